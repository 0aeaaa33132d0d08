package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestDeactivatedAndTooLarge checks that each fix of a deactivated Job that would never run makes it fit, and then
// activates it, unless the Job is created again. If only its queue is stopped, to resume that comes first. The changes of
// its placement are the same as the fixes of its Workload.
func TestDeactivatedAndTooLarge(t *testing.T) {
	const (
		activate = "if its pause is over, activate the Workload"
		smaller  = "request at most 2 cpu, for hub, then delete Job ml/big, and create it again"
		raise    = "raise the quota of ClusterQueue q on hub from 2 to 4 cpu (flavor f)"
		resume   = "if its maintenance is over, resume ClusterQueue q on hub"
		target   = "{type: DeactivationTarget, status: 'True', reason: MaximumExecutionTimeExceeded}"
		longer   = "delete Job ml/big, and create it again with a longer kueue.x-k8s.io/max-exec-time-seconds"
		fromCron = "change spec.jobTemplate of CronJob ml/nightly to one with a longer kueue.x-k8s.io/max-exec-time-seconds, and delete Job ml/big"
	)
	for name, tt := range map[string]struct {
		limit, stop, conditions, most string
		isOfCronJob                   bool
		want, changes                 []string
	}{
		"fits":                     {limit: "9", want: []string{activate}, changes: []string{activate}},
		"stopped":                  {limit: "9", stop: "Hold", want: []string{resume + ", then " + activate}, changes: []string{resume + ", then " + activate}},
		"too large":                {limit: "2", want: []string{smaller, raise + ", then " + activate}, changes: []string{activate}},
		"too large, and stopped":   {limit: "2", stop: "Hold", want: []string{smaller + ", then " + resume, raise + ", then " + resume + ", then " + activate}, changes: []string{resume + ", then " + activate}},
		"beyond a LimitRange":      {limit: "9", most: "2", want: []string{"request at most 2 cpu in container c, for hub, then delete Job ml/big, and create it again", "raise LimitRange l in namespace ml of hub, then " + activate}, changes: []string{activate}},
		"deactivated again":        {limit: "9", conditions: target, want: []string{longer}, changes: []string{longer}},
		"deactivated again, queue": {limit: "9", stop: "Hold", conditions: target, want: []string{resume + ", then " + longer}, changes: []string{resume + ", then " + longer}},
		"deactivated again, run":   {limit: "9", conditions: target, isOfCronJob: true, want: []string{fromCron}, changes: []string{fromCron}},
	} {
		t.Run(name, func(t *testing.T) {
			job := &inspect.Job{
				APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "big", UID: "big", ManagedBy: delegation.BuiltIn,
				Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "q"},
			}
			if tt.isOfCronJob {
				job.Controller = &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: "nightly"}
			}
			w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-big", UID: "w", Labels: map[string]string{delegation.JobUIDLabel: "big"}}}
			parse(t, "["+tt.conditions+"]", &w.Status.Conditions)
			w.Spec.Active, w.Spec.QueueName = ptr.To(false), "q"
			var queue kueue.ClusterQueue
			parse(t, strings.ReplaceAll(`{metadata: {name: q}, spec: {namespaceSelector: {},
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: LIMIT}]}]}]}}`, "LIMIT", tt.limit), &queue)
			queue.Spec.StopPolicy = tt.stop
			var template kueue.PodTemplates
			parse(t, `{spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 4}}}]}}}]}}`, &template)
			local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "q"}}
			local.Spec.ClusterQueue = "q"
			capacity := &inspect.Capacity{
				ClusterQueues: []*kueue.ClusterQueue{&queue}, LocalQueues: []*kueue.LocalQueue{local},
				Flavors:    []*kueue.ResourceFlavor{{ObjectMeta: metav1.ObjectMeta{Name: "f"}}},
				Namespaces: map[string]*inspect.Namespace{"ml": {Name: "ml"}}, Templates: map[types.UID]*kueue.PodTemplates{"w": &template},
			}
			if tt.most != "" {
				parse(t, "[{metadata: {namespace: ml, name: l}, spec: {limits: [{type: Container, max: {cpu: "+tt.most+"}}]}}]", &capacity.LimitRanges)
			}
			hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{Workloads: []*kueue.Workload{w}, Capacity: capacity}}
			v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{hub}, nil)
			q := Question{Inventory: v, Pair: inspect.Pair{Origin: job}, Trace: &inspect.Trace{}}
			assert.DeepEqual(t, linesOf(q.Answer().Fixes), tt.want)
			var changes []command.Fix
			for _, c := range placement.Around(v).Judge(q.Pair, nil)[0].Changes {
				changes = append(changes, command.Fix{Text: c.Message, Then: c.Then})
			}
			assert.DeepEqual(t, linesOf(changes), tt.changes)
		})
	}
}

// TestDeactivatedInStoppedQueueOfWorkers checks that the answer for a deactivated Job whose manager's queue is stopped,
// and that no worker can ever run, keeps what makes it fit.
func TestDeactivatedInStoppedQueueOfWorkers(t *testing.T) {
	const resume = "resume ClusterQueue q on hub"
	hub := *inspect.NewPlacement("hub")
	hub.Manager, hub.Verdict, hub.Reason, hub.Message = true, inspect.Never, inspect.QueueStopped, "ClusterQueue q is stopped (Hold)"
	hub.Changes = []inspect.PlacementChange{{Message: resume}}
	worker := overLimit("paris", "paris", "4")
	again := command.Fix{Text: worker.Changes[0].Message}.Again("Job ml/big", "")
	worker.Changes[0] = inspect.PlacementChange{Message: again.Text, Share: worker.Changes[0].Share}
	q := Question{Inventory: &inspect.Inventory{}, Trace: &inspect.Trace{}}
	activate := command.Step{Text: "activate the Workload", Command: []string{}}
	a := Answer{Message: "Deactivated.", Fixes: []command.Fix{{Text: resume, Command: []string{}, Then: []command.Step{activate}}}}
	q.addIfActive(&a, []inspect.Placement{hub, worker})
	assert.DeepEqual(t, linesOf(a.Fixes), []string{again.Text + ", then " + resume, "raise the quota on paris, then " + resume + ", then activate the Workload"})
}

// parse reads an object from YAML.
func parse(t *testing.T, text string, object any) {
	t.Helper()
	assert.NilError(t, yaml.Unmarshal([]byte(text), object))
}

// linesOf returns the texts of each fix on one line.
func linesOf(fixes []command.Fix) (lines []string) {
	for _, f := range fixes {
		for _, then := range f.Then {
			f.Text += ", then " + then.Text
		}
		lines = append(lines, f.Text)
	}
	return lines
}
