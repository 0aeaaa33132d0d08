package inspect

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// ofKind changes an object to a known kind.
func ofKind(t *testing.T, name string) func(*Job) {
	t.Helper()
	row, known := delegation.KindNamed(name)
	assert.Assert(t, known, name)
	return func(j *Job) {
		j.APIVersion, j.Kind = row.GroupVersionKind().ToAPIVersionAndKind()
		j.KindRow = &row
	}
}

// inVersion changes an object to another version of its kind.
func inVersion(apiVersion string) func(*Job) {
	return func(j *Job) { j.APIVersion, j.KindRow = apiVersion, nil }
}

// TestPairUpKinds checks the pairing rules that differ between kinds.
func TestPairUpKinds(t *testing.T) {
	multiKueue := managedBy(delegation.MultiKueue)
	jobSet, mpiJob, cronJob := ofKind(t, "jobset"), ofKind(t, "mpijob"), ofKind(t, "cronjob")
	pod, statefulSet := ofKind(t, "pod"), ofKind(t, "statefulset")
	submitted := marked(delegation.Marks{Queue: "q"})
	copied := func(uid string) func(*Job) {
		return marked(delegation.Marks{Queue: "q", MultiKueueOrigin: "multikueue", MultiKueueOriginUID: uid})
	}
	podOf := func(workload, group string) func(*Job) {
		return marked(delegation.Marks{Queue: "q", MultiKueueOrigin: "multikueue", Prebuilt: workload, PodGroup: group})
	}
	workload := func(kind, name, uid string) string {
		row, _ := delegation.KindNamed(kind)
		return row.WorkloadNames(name, uid, "")[0]
	}
	sized := func(u, generation string) *Job {
		return object("m", "ns", "a", multiKueue, uid(u), ofKind(t, "rayjob"), func(j *Job) { j.Generation = 2 },
			marked(delegation.Marks{Elastic: true, RayGeneration: generation}))
	}
	rayJob, _ := delegation.KindNamed("rayjob")
	sizedMirror := func(size string, since time.Duration) *Job {
		return object("w", "ns", "a", ofKind(t, "rayjob"), created(since), marked(delegation.Marks{
			MultiKueueOrigin: "x", Elastic: true, Prebuilt: rayJob.WorkloadNames("a", "u", size)[0],
		}))
	}
	for name, tt := range map[string]struct {
		jobs []*Job
		want []string
	}{
		"a JobSet and a Job of one name": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("j")), object("m", "ns", "a", multiKueue, uid("s"), jobSet),
				object("w", "ns", "a", jobSet, marked(delegation.Marks{MultiKueueOrigin: "x", Prebuilt: workload("jobset", "a", "s")})),
			},
			[]string{"m/a:", "m/a: w/a multikueue current"},
		},
		"a kind in two versions": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u"), mpiJob),
				object("w", "ns", "a", inVersion("kubeflow.org/v1"), func(j *Job) { j.Kind = "MPIJob" }, marked(delegation.Marks{
					MultiKueueOrigin: "x", Prebuilt: workload("mpijob", "a", "u"),
				})),
			},
			[]string{"m/a: w/a multikueue current"},
		},
		"a CronJob is no origin, and no mirror": {
			[]*Job{object("m", "ns", "a", multiKueue, cronJob), object("w", "ns", "a", cronJob), object("m", "ns", "b", cronJob)},
			nil,
		},
		"what a mirror has made, with its marks": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u"), ofKind(t, "rayjob")),
				object("w", "ns", "a", ofKind(t, "rayjob"), marked(delegation.Marks{MultiKueueOrigin: "x"})),
				object("w", "ns", "a-x", ofKind(t, "raycluster"), marked(delegation.Marks{MultiKueueOrigin: "x"}), func(j *Job) {
					j.Controller = &metav1.OwnerReference{APIVersion: "ray.io/v1", Kind: "RayJob", Name: "a"}
				}),
			},
			[]string{"m/a: w/a multikueue current"},
		},
		"elastic, and sized by Ray's autoscaler": {
			[]*Job{sized("u", "rc-7"), sizedMirror("2_rc-7", 0)},
			[]string{"m/a: w/a multikueue current"},
		},
		"elastic, of a size that nobody remembers": {
			[]*Job{sized("u", "rc-70"), sizedMirror("2_rc-7", 0)},
			[]string{"m/a: w/a multikueue current"},
		},
		"elastic, recreated": {
			[]*Job{sized("v", "rc-7"), sizedMirror("2_rc-7", -time.Hour)},
			[]string{"m/a: w/a multikueue old"},
		},
		"a StatefulSet, by its origin's uid": {
			[]*Job{object("m", "ns", "a", statefulSet, submitted, uid("u")), object("w", "ns", "a", statefulSet, copied("u"))},
			[]string{"m/a: w/a multikueue current"},
		},
		"a recreated StatefulSet": {
			[]*Job{object("m", "ns", "a", statefulSet, submitted, uid("new")), object("w", "ns", "a", statefulSet, copied("old"))},
			[]string{"m/a: w/a multikueue old"},
		},
		"a StatefulSet on its own cluster, which nobody has moved": {
			[]*Job{object("m", "ns", "a", statefulSet, submitted), object("w", "ns", "a", statefulSet, submitted)},
			nil,
		},
		"a StatefulSet that two managers have": {
			[]*Job{
				object("m", "ns", "a", statefulSet, submitted, uid("u")), object("n", "ns", "a", statefulSet, submitted, uid("v")),
				object("w", "ns", "a", statefulSet, copied("v")),
			},
			[]string{"n/a: w/a multikueue current"},
		},
		"a StatefulSet without an owner": {
			[]*Job{object("w", "ns", "a", statefulSet, copied("u"))},
			[]string{"orphan w/a"},
		},
		"a pod, by its Workload": {
			[]*Job{object("m", "ns", "a", pod, submitted, uid("u")), object("w", "ns", "a", pod, podOf(workload("pod", "a", "u"), ""))},
			[]string{"m/a: w/a multikueue current"},
		},
		"a pod of a group, whose Workload has the group's name": {
			[]*Job{
				object("m", "ns", "a", pod, marked(delegation.Marks{Queue: "q", PodGroup: "g"}), uid("u")),
				object("w", "ns", "a", pod, podOf("g", "g")),
			},
			[]string{"m/a: w/a multikueue current"},
		},
		"a recreated pod": {
			[]*Job{object("m", "ns", "a", pod, submitted, uid("new"), created(time.Hour)), object("w", "ns", "a", pod, podOf(workload("pod", "a", "old"), ""))},
			[]string{"m/a: w/a multikueue old"},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.DeepEqual(t, pairsText(PairUp(tt.jobs)), tt.want) })
	}
}

// TestWithoutGaps checks that the objects of a kind do not count as absent on a cluster where the
// kind could not be read.
func TestWithoutGaps(t *testing.T) {
	jobSet := ofKind(t, "jobset")
	row, _ := delegation.KindNamed("jobset")
	part := PartOf(row)
	hub := &Facts{Context: "m", Jobs: []*Job{object("m", "ns", "a", managedBy("x.example.com/y"))}, Gaps: map[Part]error{part: ErrClaimsUnknown}}
	worker := &Facts{Context: "w", Jobs: []*Job{
		object("w", "ns", "a"), object("w", "ns", "s", jobSet, marked(delegation.Marks{OriginUID: "u"})),
	}, Gaps: map[Part]error{}}
	v := NewInventory(at(0).Time, []*Facts{hub, worker}, nil)
	assert.DeepEqual(t, pairsText(v.Pairs), []string{"m/a: w/a name current", "orphan w/s"})

	whole, apart := v.WithoutGaps()
	assert.DeepEqual(t, pairsText(whole.Pairs), []string{"m/a: w/a name current"})
	assert.Equal(t, len(apart), 1)
	assert.ErrorIs(t, apart[part].Facts("m").Err, ErrClaimsUnknown)
	assert.DeepEqual(t, pairsText(apart[part].Pairs), []string{"orphan w/s"})
	assert.DeepEqual(t, apart[part].UnreadContexts(), []string{"m"})

	hub.Gaps = map[Part]error{}
	whole, apart = v.WithoutGaps()
	assert.Assert(t, whole == v && apart == nil)
}
