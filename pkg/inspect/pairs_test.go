package inspect

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// object returns a Job on a cluster whose UID derives from the context's name.
func object(context, namespace, name string, change ...func(*Job)) *Job {
	j := &Job{
		Context: context, ClusterUID: context + "-uid", APIVersion: "batch/v1", Kind: "Job",
		Namespace: namespace, Name: name, UID: context + "." + namespace + "." + name,
		ManagedBy: delegation.BuiltIn, Status: delegation.Running, CreationTimestamp: *at(0),
	}
	for _, c := range change {
		c(j)
	}
	return j
}

func managedBy(o delegation.Owner) func(*Job) { return func(j *Job) { j.ManagedBy = o } }
func marked(m delegation.Marks) func(*Job)    { return func(j *Job) { j.Marks = &m } }
func uid(u string) func(*Job)                 { return func(j *Job) { j.UID = u } }
func created(d time.Duration) func(*Job)      { return func(j *Job) { j.CreationTimestamp = *at(d) } }

// prebuilt returns the name that Kueue gives to the Workload of a Job.
func prebuilt(name, uid string) string { return delegation.Job().WorkloadNames(name, uid, "")[0] }

// mirrorOf marks a Job as MultiKueue's mirror of the origin with this UID.
func mirrorOf(name, uid string) func(*Job) {
	return marked(delegation.Marks{MultiKueueOrigin: "multikueue", Prebuilt: prebuilt(name, uid)})
}

// pairsText describes pairs as text, for readable differences.
func pairsText(p *Pairs) (lines []string) {
	for _, pair := range p.Pairs {
		line := pair.Origin.Context + "/" + pair.Origin.Name + ":"
		for _, m := range pair.Mirrors {
			word := "current"
			if !m.Current {
				word = "old"
			}
			line += fmt.Sprintf(" %s/%s %s %s", m.Job.Context, m.Job.Name, m.Relation, word)
		}
		for _, j := range pair.Namesakes {
			line += " not " + j.Context
		}
		lines = append(lines, line)
	}
	for _, j := range p.Orphans {
		lines = append(lines, "orphan "+j.Context+"/"+j.Name)
	}
	return lines
}

func TestPairUp(t *testing.T) {
	const other = delegation.Owner("flows.example.com/runner")
	multiKueue := managedBy(delegation.MultiKueue)
	for name, tt := range map[string]struct {
		jobs []*Job
		want []string
	}{
		"MultiKueue's": {
			[]*Job{object("m", "ns", "a", multiKueue, uid("u")), object("w", "ns", "a", mirrorOf("a", "u"))},
			[]string{"m/a: w/a multikueue current"},
		},
		"the uid of a real one, from a real recording": {
			[]*Job{
				object("m", "ns", "train", multiKueue, uid("880662c0-8617-4219-bfcd-5b29336ab0fa")),
				object("w", "ns", "train", marked(delegation.Marks{MultiKueueOrigin: "multikueue", Prebuilt: "job-train-1c348"})),
			},
			[]string{"m/train: w/train multikueue current"},
		},
		"MultiKueue's, with a Workload that a user created": {
			[]*Job{
				object("m", "ns", "a", multiKueue, marked(delegation.Marks{Prebuilt: "own"})),
				object("w", "ns", "a", marked(delegation.Marks{MultiKueueOrigin: "x", Prebuilt: "own"})),
			},
			[]string{"m/a: w/a multikueue current"},
		},
		"two managers, with Workloads of the same name that users created": {
			[]*Job{
				object("m", "ns", "a", multiKueue, marked(delegation.Marks{Prebuilt: "own"})),
				object("n", "ns", "a", multiKueue, marked(delegation.Marks{Prebuilt: "own"})),
				object("w", "ns", "a", marked(delegation.Marks{MultiKueueOrigin: "x", Prebuilt: "own"})),
			},
			[]string{"m/a:", "n/a:", "orphan w/a"},
		},
		"MultiKueue's, of an older incarnation": {
			[]*Job{object("m", "ns", "a", multiKueue, uid("new")), object("w", "ns", "a", mirrorOf("a", "old"))},
			[]string{"m/a: w/a multikueue old"},
		},
		"MultiKueue's, without a Workload's name": {
			[]*Job{object("m", "ns", "a", multiKueue), object("w", "ns", "a", marked(delegation.Marks{MultiKueueOrigin: "x"}))},
			[]string{"m/a: w/a multikueue current"},
		},
		"MultiKueue's, without a Workload's name, and older than its origin": {
			[]*Job{object("m", "ns", "a", multiKueue, created(time.Hour)), object("w", "ns", "a", marked(delegation.Marks{MultiKueueOrigin: "x"}))},
			[]string{"m/a: w/a multikueue old"},
		},
		"on two workers, the finished one last": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u")),
				object("v", "ns", "a", mirrorOf("a", "u"), func(j *Job) { j.Status = delegation.Complete }),
				object("w", "ns", "a", mirrorOf("a", "u")),
			},
			[]string{"m/a: w/a multikueue current v/a multikueue current"},
		},
		"two managers, told apart by the Workload's name": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u")), object("n", "ns", "a", multiKueue, uid("v")),
				object("w", "ns", "a", mirrorOf("a", "v")),
			},
			[]string{"m/a:", "n/a: w/a multikueue current"},
		},
		"two managers, and an old mirror that may be of either": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u")), object("n", "ns", "a", multiKueue, uid("v")),
				object("w", "ns", "a", mirrorOf("a", "gone")),
			},
			[]string{"m/a:", "n/a:", "orphan w/a"},
		},
		"a namesake is no mirror of MultiKueue's": {
			[]*Job{object("m", "ns", "a", multiKueue), object("w", "ns", "a")},
			[]string{"m/a: not w"},
		},
		"marked, without an owner": {
			[]*Job{object("w", "ns", "a", mirrorOf("a", "u")), object("m", "ns", "b", multiKueue), object("m", "other", "a", multiKueue)},
			[]string{"m/b:", "m/a:", "orphan w/a"},
		},
		"marked, with an origin on its own cluster only": {
			[]*Job{object("w", "ns", "a", multiKueue, uid("u")), object("w", "ns", "a", mirrorOf("a", "u"), uid("x"))},
			[]string{"w/a:", "orphan w/a"},
		},
		"a delegated object is never a mirror": {
			[]*Job{object("m", "ns", "a", multiKueue, uid("u")), object("w", "ns", "a", managedBy(other), mirrorOf("a", "u"))},
			[]string{"m/a:", "w/a:"},
		},
		"elastic: any of its generations": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u"), marked(delegation.Marks{Elastic: true}), func(j *Job) { j.Generation = 4 }),
				object("w", "ns", "a", marked(delegation.Marks{
					MultiKueueOrigin: "x", Prebuilt: delegation.Job().WorkloadNames("a", "u", "3")[0],
				})),
			},
			[]string{"m/a: w/a multikueue current"},
		},
		"dispatch's, in another namespace under another name": {
			[]*Job{
				object("m", "ns", "a", managedBy(delegation.Dispatch), uid("u")),
				object("w", "there", "b", marked(delegation.Marks{OriginUID: "u", Origin: delegation.Place{ClusterUID: "m-uid", Namespace: "ns", Name: "a"}})),
			},
			[]string{"m/a: w/b dispatch current"},
		},
		"dispatch's, of an older incarnation": {
			[]*Job{
				object("m", "ns", "a", managedBy(delegation.Dispatch), uid("new")),
				object("w", "ns", "a", marked(delegation.Marks{OriginUID: "old", Origin: delegation.Place{ClusterUID: "m-uid", Namespace: "ns", Name: "a"}})),
			},
			[]string{"m/a: w/a dispatch old"},
		},
		"dispatch's, whose origin is gone": {
			[]*Job{object("w", "ns", "a", marked(delegation.Marks{OriginUID: "u", Origin: delegation.Place{ClusterUID: "m-uid", Namespace: "ns", Name: "a"}}))},
			[]string{"orphan w/a"},
		},
		"by name, where the owner's marks are not known": {
			[]*Job{object("m", "ns", "a", managedBy(other)), object("w", "ns", "a"), object("w", "ns", "b"), object("w", "x", "a")},
			[]string{"m/a: w/a name current"},
		},
		"by name, older than its origin": {
			[]*Job{object("m", "ns", "a", managedBy(other), created(time.Hour)), object("w", "ns", "a")},
			[]string{"m/a: w/a name old"},
		},
		"by name, of two origins": {
			[]*Job{object("m", "ns", "a", managedBy(other)), object("n", "ns", "a", managedBy(other)), object("w", "ns", "a")},
			[]string{"m/a:", "n/a:"},
		},
		"one cluster through two contexts": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u")),
				object("w", "ns", "a", mirrorOf("a", "u")),
				object("v", "ns", "a", mirrorOf("a", "u"), func(j *Job) { j.ClusterUID, j.UID = "w-uid", "w.ns.a" }),
			},
			[]string{"m/a: w/a multikueue current"},
		},
		"a cluster without an identity": {
			[]*Job{
				object("m", "ns", "a", multiKueue, uid("u"), func(j *Job) { j.ClusterUID = "" }),
				object("w", "ns", "a", mirrorOf("a", "u"), func(j *Job) { j.ClusterUID = "" }),
			},
			[]string{"m/a: w/a multikueue current"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.DeepEqual(t, pairsText(PairUp(tt.jobs)), tt.want)
		})
	}
}

// FuzzPairUp pairs fleets in which names, UIDs, marks and owners collide far more often than in
// real ones.
func FuzzPairUp(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed*7, uint8(seed*3))
	}
	f.Fuzz(func(t *testing.T, a, b uint64, n uint8) {
		jobs := randomJobs(rand.New(rand.NewPCG(a, b)), int(n))
		pairs := PairUp(jobs)
		origins := map[*Job]bool{}
		mirrors := map[*Job]bool{}
		for _, p := range pairs.Pairs {
			assert.Assert(t, !origins[p.Origin], "an origin has one pair")
			assert.Assert(t, !p.Origin.ManagedBy.IsBuiltIn(), "an origin is delegated")
			origins[p.Origin] = true
			for _, m := range p.Mirrors {
				assert.Assert(t, !mirrors[m.Job], "a mirror has one origin")
				assert.Assert(t, m.Job.ManagedBy.IsBuiltIn(), "a mirror is not delegated")
				assert.Assert(t, !sameCluster(m.Job, p.Origin), "a mirror is on another cluster")
				mirrors[m.Job] = true
			}
		}
		for _, j := range pairs.Orphans {
			assert.Assert(t, !mirrors[j] && j.ManagedBy.IsBuiltIn() && j.Marks != nil)
		}
		for _, j := range jobs {
			assert.Equal(t, origins[j], !j.ManagedBy.IsBuiltIn(), "every delegated object has a pair")
		}
		assert.DeepEqual(t, pairsText(PairUp(jobs)), pairsText(pairs))
	})
}

func randomJobs(r *rand.Rand, n int) []*Job {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	jobs := make([]*Job, n)
	for i := range jobs {
		j := object(pick("m", "n", "w"), pick("x", "y"), pick("a", "b"), uid(pick("1", "2", "3", "4")), created(time.Duration(r.IntN(3))*time.Hour))
		j.ClusterUID = pick(j.ClusterUID, j.ClusterUID, "", "m-uid")
		j.Kind = pick("Job", "Job", "JobSet")
		j.ManagedBy = delegation.Owner(pick(string(delegation.BuiltIn), string(delegation.BuiltIn), string(delegation.MultiKueue), string(delegation.Dispatch), "example.com/x"))
		if r.IntN(2) == 0 {
			j.Marks = &delegation.Marks{
				MultiKueueOrigin: pick("", "multikueue"), Elastic: r.IntN(2) == 0, OriginUID: pick("", "", "1", "2"),
				Prebuilt: pick("", prebuilt("a", "1"), prebuilt("a", "2"), prebuilt("b", "3")),
				Origin:   delegation.Place{ClusterUID: pick("m-uid", "n-uid"), Namespace: pick("x", "y"), Name: pick("a", "b")},
			}
			j.Generation = int64(r.IntN(5))
		}
		jobs[i] = j
	}
	return jobs
}

// BenchmarkPairUp pairs ten contexts of 10,000 Jobs each, a tenth of them
// delegated.
func BenchmarkPairUp(b *testing.B) {
	jobs := manyJobs(10, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		PairUp(jobs)
	}
}

// manyJobs returns Jobs on several contexts. The first is a manager whose Jobs run on the others.
func manyJobs(contexts, each int) []*Job {
	var jobs []*Job
	for c := range contexts {
		for n := range each {
			name := fmt.Sprintf("job-%d", n)
			j := object(fmt.Sprintf("c%d", c), fmt.Sprintf("ns-%d", n%50), name)
			switch {
			case c == 0:
				j.ManagedBy = delegation.MultiKueue
			case n%(contexts-1) == c-1:
				j.Marks = &delegation.Marks{MultiKueueOrigin: "multikueue", Prebuilt: prebuilt(name, "c0."+j.Namespace+"."+name)}
			default:
				j.Name = fmt.Sprintf("own-%d", n)
			}
			jobs = append(jobs, j)
		}
	}
	return jobs
}
