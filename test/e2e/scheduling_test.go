package e2e

import (
	"context"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// gang makes this many Pods of a Job start together. management and worker-2 support that; on
// worker-1 the gate is off.
func gang(minCount int32) fixture.Option {
	return func(j *batchv1.Job) {
		j.Spec.Scheduling = &batchv1.JobSchedulingConfiguration{SchedulingPolicy: &schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy{
			Gang: &schedulingv1alpha3.WorkloadPodGroupGangSchedulingPolicy{MinCount: &minCount},
		}}
	}
}

// TestPreflightGangs checks that only a dry run shows whether a server keeps a field that is in
// its schema.
func TestPreflightGangs(t *testing.T) {
	t.Parallel()
	const ns = "preflight-gangs"
	f := newPreflightCase(t, ns, fixture.Pods(2), gang(2))
	assert.NilError(t, makeSpace(t, worker2, ns))
	found := f.problems()
	assert.Equal(t, len(found), 1, "%s", describeProblems(found))
	assert.Assert(t, found[0].Blocking && found[0].Context == worker1, "%s", describeProblems(found))
	assert.Assert(t, contains(found[0].Message, "drops spec.scheduling, so the Job would behave differently there"), "%s", describeProblems(found))

	f.worker = clusterOf(t, worker2)
	f.eventuallyClear()

	// A group that a user created, by its name.
	f.job = f.create("grouped", fixture.Pods(2), template(func(s *corev1.PodSpec) {
		s.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("mine")}
	}))
	problem := f.eventuallyFinds("PodGroup " + ns + "/mine")
	assert.Assert(t, problem.Blocking, "%s", problem.Message)
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: schedulingv1beta1.PodGroupSpec{
		SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}},
	}}
	_, err := client(t, worker2).SchedulingV1beta1().PodGroups(ns).Create(t.Context(), group, metav1.CreateOptions{})
	assert.NilError(t, err)
	f.eventuallyClear()
}

// TestDispatchGang runs a Job whose Pods start together, on a cluster that supports that, and
// changes their number.
func TestDispatchGang(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-gang"
	for _, cluster := range []string{management, worker2} {
		assert.NilError(t, makeSpace(t, cluster, ns))
	}
	here, there := client(t, management), client(t, worker2)
	job := fixture.New(ns, "train", fixture.Pods(4), gang(4), fixture.Suspended(), fixture.ManagedBy("jobmanagedby.github.io/dispatch"), fixture.RunsFor("1s"))
	job.Annotations = map[string]string{"scheduling.k8s.io/group-template-name": "workers"}
	createJobs(t, management, job)
	d := dispatches(t, ns, "train", "--to", worker2)
	d.Expect(dispatch.MirrorCreated, "train")

	// The server accepts both fields only in one write.
	_, err := here.BatchV1().Jobs(ns).Patch(t.Context(), "train", types.MergePatchType,
		[]byte(`{"spec": {"parallelism": 2, "suspend": false, "scheduling": {"schedulingPolicy": {"gang": {"minCount": 2}}}}}`), metav1.PatchOptions{})
	assert.NilError(t, err)
	assert.Equal(t, d.End(), 0, d.Stderr.String())

	mirror, err := there.BatchV1().Jobs(ns).Get(t.Context(), "train", metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Equal(t, *mirror.Spec.Scheduling.SchedulingPolicy.Gang.MinCount, int32(2))
	assert.Equal(t, *mirror.Spec.Parallelism, int32(2))
	_, isNamed := mirror.Annotations["scheduling.k8s.io/group-template-name"]
	assert.Assert(t, !isNamed)
	// The Pods of a delegated Job are not grouped; those of its mirror are.
	err = poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		groups, err := there.SchedulingV1beta1().PodGroups(ns).List(ctx, metav1.ListOptions{})
		return err == nil && len(groups.Items) == 1 && strings.HasPrefix(groups.Items[0].Name, "train-"), err
	})
	assert.NilError(t, err)
	groups, err := here.SchedulingV1beta1().PodGroups(ns).List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	assert.Equal(t, len(groups.Items), 0)
}
