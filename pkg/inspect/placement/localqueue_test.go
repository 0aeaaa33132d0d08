package placement_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestMissingLocalQueue checks that the change that creates a LocalQueue has its command, and whether
// the Job starts after it.
func TestMissingLocalQueue(t *testing.T) {
	const text = "create LocalQueue ml/q on w"
	missing := func(cluster string) string {
		return strings.Replace(cluster, "{namespace: ml, name: q}", "{namespace: ml, name: other}", 1)
	}
	run := `printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"q","namespace":"ml"},"spec":{"clusterQueue":"q"}}' | kubectl --context w create -f -`
	two := strings.Replace(missing(simple("4")), "queues: [", "queues: [{metadata: {name: p}}, ", 1)
	for cluster, want := range map[string]inspect.PlacementChange{
		missing(simple("4")): {Message: text, Command: run, Starts: true},
		missing(simple("4") + "workloads: [" + holding("q", "a", "f", "3", "0") + "]"): {Message: text, Command: run},
		two: {Message: text + " for one of its ClusterQueues", Command: "kubectl --context w get clusterqueues.kueue.x-k8s.io"},
	} {
		p := judged(t, cluster, pods("2", "cpu: 1"))
		assert.Equal(t, p.Reason, inspect.QueueMissing)
		assert.DeepEqual(t, p.Changes, []inspect.PlacementChange{want})
	}
}

// TestStartsAfterOneChange checks which changes of a cluster start a Job: those after which it takes the Job, and has free
// quota. A queue that a user has stopped is no such change.
func TestStartsAfterOneChange(t *testing.T) {
	others := strings.ReplaceAll(simple("4"), "namespaceSelector: {}", "namespaceSelector: {matchLabels: {team: a}}")
	inUse := "workloads: [" + holding("q", "a", "f", "3", "0") + "]"
	own := "own: {metadata: {namespace: ml, name: w, uid: w}, spec: {queueName: q}, status: {conditions: [{type: QuotaReserved, status: 'False', reason: Misconfigured, message: x}]}}\n"
	for name, tt := range map[string]struct {
		cluster string
		hasNone bool
		reason  inspect.PlacementReason
		starts  bool
		change  string
	}{
		"other namespaces":                {others, false, inspect.NamespaceNotSelected, true, "use another queue or, if namespace ml may use ClusterQueue q, label it on w"},
		"other namespaces, submitted":     {others + own, false, inspect.NamespaceNotSelected, true, "use another queue or, if namespace ml may use ClusterQueue q, label it on w"},
		"other namespaces, and in use":    {others + inUse, false, inspect.NamespaceNotSelected, false, "use another queue or, if namespace ml may use ClusterQueue q, label it on w"},
		"stopped":                         {strings.ReplaceAll(simple("4"), "{namespaceSelector", "{stopPolicy: Hold, namespaceSelector"), false, inspect.QueueStopped, false, "if its maintenance is over, resume ClusterQueue q on w"},
		"no namespace":                    {simple("4"), true, inspect.NamespaceMissing, true, "create namespace ml on w, and then create LocalQueue ml/q on w"},
		"no namespace, and in use":        {simple("4") + inUse, true, inspect.NamespaceMissing, false, "create namespace ml on w, and then create LocalQueue ml/q on w"},
		"no namespace, and others only":   {others, true, inspect.NamespaceMissing, false, "create namespace ml on w, and then create LocalQueue ml/q on w"},
		"no namespace, and unread queues": {simple("4") + "unread: [ClusterQueues]", true, inspect.NamespaceMissing, false, "create namespace ml on w"},
	} {
		w := parse[world](t, tt.cluster)
		j := parse[batchv1.Job](t, pods("2", "cpu: 1"))
		j.Namespace = "ml"
		r := placement.OfJob(&j, "q")
		f := w.facts()
		if tt.hasNone {
			f.Kueue.Capacity.Namespaces["ml"], f.Kueue.Capacity.LocalQueues = nil, nil
		}
		p := placement.On(f, &r, w.Own, time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC))
		assert.Equal(t, p.Reason, tt.reason, name)
		c := p.Changes[0]
		text := c.Message
		for _, step := range c.Then {
			assert.Assert(t, len(step.Command) > 0, name)
			text += ", and then " + step.Text
		}
		assert.Equal(t, text, tt.change, name)
		assert.Equal(t, c.Starts, tt.starts, name)
	}
}

// TestCreatedLocalQueue checks that a LocalQueue that the files of a Job create makes a cluster its manager, also if the dry
// run there shows no owner, because the LocalQueue does not exist yet.
func TestCreatedLocalQueue(t *testing.T) {
	for _, isTried := range []bool{false, true} {
		j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
		j.Namespace = "ml"
		hub := managerOfParis(t)
		local := hub.Kueue.Capacity.LocalQueues[0]
		hub.Kueue.Capacity.LocalQueues = nil
		v := inspect.NewInventory(time.Now(), []*inspect.Facts{hub}, nil)
		r := placement.OfJob(&j, "q")
		r.Owner = delegation.BuiltIn
		if isTried {
			as := r
			r.Check("hub").As = &as
		}
		assert.Assert(t, !placement.IsDefaultedByNewQueue(v, &r))
		r.LocalQueue = local
		assert.Assert(t, placement.IsDefaultedByNewQueue(v, &r))
		all := placement.Submit(v, &r)
		assert.Equal(t, len(all), 2)
		assert.Assert(t, all[0].Manager && all[0].Verdict == inspect.Fits, all[0].Message)
		r.PodSets[0].Template.Spec.Containers[0].Resources.Requests = nil
		if isTried {
			r.Checked["hub"].As.PodSets = r.PodSets
		}
		assert.Equal(t, placement.Submit(v, &r)[0].Reason, inspect.NothingRequested)
	}
}

// TestUnreadLocalQueue checks that the right in the namespace is reported as missing, not that for all
// namespaces: the queue was also requested by name.
func TestUnreadLocalQueue(t *testing.T) {
	w := parse[world](t, "unread: [queues]")
	j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	f := w.facts()
	assert.Equal(t, placement.On(f, &r, nil, time.Time{}).Message, "cannot read LocalQueue ml/q: queues are forbidden")
	f.Kueue.RequestedQueues, f.Gaps = []string{"ml/q"}, map[inspect.Part]error{inspect.PartQueues: errors.New("forbidden in namespace ml")}
	assert.Equal(t, placement.On(f, &r, nil, time.Time{}).Message, "cannot read LocalQueue ml/q: forbidden in namespace ml")
	f.Gaps = nil
	assert.Equal(t, placement.On(f, &r, nil, time.Time{}).Message, "LocalQueue ml/q does not exist")
}
