package rules_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// bigFleet is a healthy fleet: a number of MultiKueue's Jobs on one context,
// with their Workloads, and on the other contexts their mirrors, the mirrors'
// Workloads, and one Pod each.
func bigFleet(jobs, contexts int) *inspect.Inventory { return fleetOf(jobs, contexts, addJob) }

// fleetOf is a fleet with a manager and workers, to which add adds each Job.
func fleetOf(jobs, contexts int, add func(facts []*inspect.Facts, n int, when metav1.Time)) *inspect.Inventory {
	when := metav1.NewTime(epoch)
	active := []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: when}}
	facts := make([]*inspect.Facts, contexts)
	var addresses []kubecontext.Address
	for c := range facts {
		facts[c] = &inspect.Facts{
			Context: fmt.Sprintf("c%d", c), ClusterUID: fmt.Sprintf("uid-%d", c), Version: "v1.36.3",
			Kueue: &inspect.KueueFacts{Version: "v1beta2", Addresses: map[string]kubecontext.Address{}}, Gaps: map[inspect.Part]error{},
			Namespaces: map[string]inspect.Namespace{}, Kinds: []delegation.Kind{delegation.Job()},
		}
		addresses = append(addresses, kubecontext.Address{Context: facts[c].Context, Server: fmt.Sprintf("https://c%d.example", c)})
		k := facts[c].Kueue
		queue := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "cq"}}
		queue.Status.Conditions = active
		k.ClusterQueues = append(k.ClusterQueues, queue)
		for n := range 50 {
			ns := fmt.Sprintf("ns-%d", n)
			facts[c].Namespaces[ns] = inspect.Namespace{Name: ns}
			local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lq"}}
			local.Spec.ClusterQueue, local.Status.Conditions = "cq", active
			k.LocalQueues = append(k.LocalQueues, local)
		}
		if c > 0 {
			continue
		}
		check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "mk"}}
		check.Spec.ControllerName, check.Status.Conditions = kueue.ControllerName, active
		check.Spec.Parameters = &struct {
			APIGroup string `json:"apiGroup"`
			Kind     string `json:"kind"`
			Name     string `json:"name"`
		}{kueue.Group, "MultiKueueConfig", "fleet"}
		k.Checks = append(k.Checks, check)
		config := &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "fleet"}}
		for w := 1; w < contexts; w++ {
			name := fmt.Sprintf("w%d", w)
			config.Spec.Clusters = append(config.Spec.Clusters, name)
			cluster := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			cluster.Status.Conditions = active
			k.Clusters = append(k.Clusters, cluster)
			k.Addresses[name] = kubecontext.Address{Server: fmt.Sprintf("https://c%d.example", w)}
		}
		k.Configs = append(k.Configs, config)
	}
	for n := range jobs {
		add(facts, n, when)
	}
	return inspect.NewInventory(epoch.Add(time.Hour), facts, addresses)
}

func addJob(facts []*inspect.Facts, n int, when metav1.Time) {
	ns, name, w := fmt.Sprintf("ns-%d", n%50), fmt.Sprintf("job-%d", n), 1+n%(len(facts)-1)
	job := func(c int, owner delegation.Owner) *inspect.Job {
		return &inspect.Job{
			Context: facts[c].Context, ClusterUID: facts[c].ClusterUID, APIVersion: "batch/v1", Kind: "Job",
			Namespace: ns, Name: name, UID: fmt.Sprintf("%d-%d", c, n), ManagedBy: owner, Status: delegation.Running,
			Active: 1, Ready: new(int32(1)), StartTime: &when, CreationTimestamp: when, StatusWrittenAt: &when, Since: &when,
			Completions: new(int32(1)), Parallelism: new(int32(1)),
			Marks: &delegation.Marks{Queue: "lq"},
		}
	}
	origin, mirror := job(0, delegation.MultiKueue), job(w, delegation.BuiltIn)
	workload := delegation.Job().WorkloadNames(name, origin.UID, "")[0]
	mirror.Marks.MultiKueueOrigin, mirror.Marks.Prebuilt = "multikueue", workload
	facts[0].Jobs, facts[w].Jobs = append(facts[0].Jobs, origin), append(facts[w].Jobs, mirror)
	for _, j := range []*inspect.Job{origin, mirror} {
		c := 0
		if j == mirror {
			c = w
		}
		o := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: workload, UID: types.UID(workload + facts[c].Context), CreationTimestamp: when,
			Labels: map[string]string{delegation.JobUIDLabel: j.UID},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(j.UID), Controller: new(true),
			}},
		}}
		o.Spec.QueueName = "lq"
		for _, condition := range []string{kueue.QuotaReserved, kueue.Admitted} {
			o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: condition, LastTransitionTime: when})
		}
		if c == 0 {
			o.Status.ClusterName = new(fmt.Sprintf("w%d", w))
			o.Status.AdmissionChecks = []kueue.CheckState{{Name: "mk", State: kueue.CheckReady, LastTransitionTime: when}}
		} else {
			o.Labels[delegation.MultiKueueOriginLabel] = "multikueue"
		}
		facts[c].Kueue.Workloads = append(facts[c].Kueue.Workloads, o)
	}
	facts[w].Pods = append(facts[w].Pods, &inspect.Pod{
		Namespace: ns, Name: name + "-x", UID: "pod-" + mirror.UID, JobUID: mirror.UID, Phase: corev1.PodRunning,
		Reason: "Running", Ready: true, CreationTimestamp: when, Changed: when,
	})
}

// addWaiting adds a Job that waits for quota on all workers. Its Workload has a copy on each.
func addWaiting(facts []*inspect.Facts, n int, when metav1.Time) {
	ns, name := "ns-0", fmt.Sprintf("job-%d", n)
	origin := &inspect.Job{
		Context: facts[0].Context, ClusterUID: facts[0].ClusterUID, APIVersion: "batch/v1", Kind: "Job",
		Namespace: ns, Name: name, UID: fmt.Sprintf("0-%d", n), ManagedBy: delegation.MultiKueue, Status: delegation.Suspended, Suspended: true,
		CreationTimestamp: when, Completions: new(int32(1)), Parallelism: new(int32(1)), Marks: &delegation.Marks{Queue: "lq"},
	}
	facts[0].Jobs = append(facts[0].Jobs, origin)
	for c, f := range facts {
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: delegation.Job().WorkloadNames(name, origin.UID, "")[0], UID: types.UID(fmt.Sprintf("%d-%d-w", c, n)), CreationTimestamp: when,
		}}
		w.Spec.QueueName = "lq"
		if c == 0 {
			w.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: name, UID: types.UID(origin.UID), Controller: new(true)}}
			w.Status.Conditions = []metav1.Condition{{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue, Reason: kueue.QuotaReserved, LastTransitionTime: when}}
			w.Status.AdmissionChecks = []kueue.CheckState{{Name: "mk", State: kueue.CheckPending, LastTransitionTime: when}}
			w.Status.Nominated = []string{"w1", "w2"}
		} else {
			w.Labels = map[string]string{delegation.MultiKueueOriginLabel: "multikueue"}
			w.Status.Conditions = []metav1.Condition{{
				Type: kueue.QuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending", LastTransitionTime: when,
				Message: "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed",
			}}
		}
		f.Kueue.Workloads = append(f.Kueue.Workloads, w)
	}
}

// TestCostGrowsWithJobs: the memory that an answer takes for each waiting Job depends little on how many Jobs wait. What
// reads all Workloads once for each Job takes ten times as much for each of ten times as many, and minutes for 10,000.
func TestCostGrowsWithJobs(t *testing.T) {
	few, many := fleetOf(100, 3, addWaiting), fleetOf(1000, 3, addWaiting)
	for name, do := range map[string]func(v *inspect.Inventory){
		"findings":       func(v *inspect.Inventory) { rules.Judge(v, rules.All(), rules.Options{}) },
		"unread workers": func(v *inspect.Inventory) { answer.WorkersUnread(v, func(inspect.Pair) bool { return true }) },
		"reasons":        func(v *inspect.Inventory) { answer.Jobs(v, nil) },
	} {
		perJob := func(v *inspect.Inventory) uint64 {
			do(v)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			do(v)
			runtime.ReadMemStats(&after)
			return (after.TotalAlloc - before.TotalAlloc) / uint64(len(v.Pairs.Pairs))
		}
		ofFew, ofMany := perJob(few), perJob(many)
		assert.Assert(t, ofFew > 0 && ofMany < 2*ofFew, "%s: %d bytes for each of 1000 Jobs, %d for each of 100", name, ofMany, ofFew)
	}
}

// TestBigFleetIsHealthy checks that a healthy fleet has no finding, whatever
// its size.
func TestBigFleetIsHealthy(t *testing.T) {
	assert.DeepEqual(t, judge(t, bigFleet(1000, 10), rules.All(), 0), []inspect.Finding{})
}

// BenchmarkJudge judges 10,000 delegated Jobs over ten contexts.
func BenchmarkJudge(b *testing.B) {
	v, all := bigFleet(10_000, 10), rules.All()
	b.ReportAllocs()
	for b.Loop() {
		rules.Judge(v, all, rules.Options{})
	}
}
