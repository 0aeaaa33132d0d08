package printers_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// now is the time of all output.
var now = time.Date(2025, time.March, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(now.Add(-d))) }

// newJob returns a Job that is an hour old, with no other properties.
func newJob(name string, owner delegation.Owner, status delegation.Status) inspect.Job {
	return inspect.Job{
		Context: "hub", APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: name, UID: "uid-of-" + name,
		ManagedBy: owner, Status: status, Completions: ptr.To[int32](1), Parallelism: ptr.To[int32](1),
		CreationTimestamp: *ago(time.Hour),
	}
}

// with returns a Job after a change.
func with(j inspect.Job, change func(*inspect.Job)) inspect.Job {
	change(&j)
	return j
}

// pointersTo returns pointers to Jobs, as lists have them.
func pointersTo(jobs []inspect.Job) []*inspect.Job {
	var all []*inspect.Job
	for i := range jobs {
		all = append(all, &jobs[i])
	}
	return all
}

// listOf groups Jobs in the order in which they come.
func listOf(jobs ...inspect.Job) *inspect.OwnerList {
	list := inspect.NewOwnerList()
	at := map[delegation.Owner]int{}
	for _, j := range jobs {
		i, ok := at[j.ManagedBy]
		if !ok {
			i = len(list.Items)
			at[j.ManagedBy] = i
			list.Items = append(list.Items, inspect.OwnerGroup{
				ManagedBy: j.ManagedBy, BuiltIn: j.ManagedBy.IsBuiltIn(), Counts: map[delegation.Status]int{}, Jobs: []*inspect.Job{},
			})
		}
		list.Items[i].Counts[j.Status]++
		list.Items[i].Jobs = append(list.Items[i].Jobs, &j)
	}
	return list
}

// everyStatus returns a Job of each status and with each form of a cell.
func everyStatus() *inspect.OwnerList {
	const dispatch, multiKueue, builtIn = delegation.Dispatch, delegation.MultiKueue, delegation.BuiltIn
	return listOf(
		with(newJob("train", multiKueue, delegation.Running), func(j *inspect.Job) {
			j.Completions, j.Parallelism, j.Active, j.Ready, j.Succeeded = ptr.To[int32](10), ptr.To[int32](4), 4, ptr.To[int32](3), 2
			j.StartTime, j.Since = ago(50*time.Minute), ago(90*time.Second)
			j.Mirrors = []inspect.Ref{{Context: "west", Namespace: "batch", Name: "train", UID: "m"}}
			j.Findings = []string{"JM012", "JM101", "JM102"}
		}),
		with(newJob("nobody", multiKueue, delegation.Unclaimed), func(j *inspect.Job) { j.Findings = []string{"JM101"} }),
		with(newJob("twice", dispatch, delegation.Pending), func(j *inspect.Job) {
			j.Completions, j.Parallelism = nil, ptr.To[int32](5)
			j.Mirrors = []inspect.Ref{{Context: "west"}, {Context: "east"}, {Context: "north"}}
			j.Findings = []string{}
			j.Dispatcher = &inspect.Dispatcher{Holder: "alice@laptop_1", Since: ago(2 * time.Minute), Renewed: ago(time.Second), Held: true}
		}),
		with(newJob("held", dispatch, delegation.Suspended), func(j *inspect.Job) {
			j.Suspended, j.Mirrors = true, []inspect.Ref{}
			j.Dispatcher = &inspect.Dispatcher{}
		}),
		with(newJob("done", builtIn, delegation.Complete), func(j *inspect.Job) {
			j.Succeeded, j.StartTime, j.CompletionTime, j.FinishedTime = 1, ago(59*time.Minute), ago(58*time.Minute), ago(58*time.Minute)
			j.Since = ago(58 * time.Minute)
		}),
		with(newJob("broken", builtIn, delegation.Failed), func(j *inspect.Job) {
			j.Failed, j.StartTime, j.FinishedTime = 7, ago(59*time.Minute), ago(30*time.Minute)
			j.Completions, j.Parallelism = nil, nil
		}),
		with(newJob("going", builtIn, delegation.Terminating), func(j *inspect.Job) {
			j.CreationTimestamp = *ago(400 * 24 * time.Hour)
		}),
	)
}

// everyDispatcher returns a Job for each state of its dispatcher.
func everyDispatcher() *inspect.OwnerList {
	dispatched := func(name string, status delegation.Status, d *inspect.Dispatcher) inspect.Job {
		return with(newJob(name, delegation.Dispatch, status), func(j *inspect.Job) { j.Dispatcher = d })
	}
	gone := &inspect.Dispatcher{Holder: "alice@laptop_1", Since: ago(time.Hour), Renewed: ago(time.Minute)}
	return listOf(
		dispatched("held", delegation.Running, &inspect.Dispatcher{Holder: "alice@laptop_1", Since: ago(2 * time.Minute), Renewed: ago(time.Second), Held: true}),
		dispatched("undated", delegation.Running, &inspect.Dispatcher{Holder: "bob", Held: true}),
		dispatched("expired", delegation.Running, gone),
		dispatched("let-go", delegation.Complete, &inspect.Dispatcher{Renewed: ago(time.Minute)}),
		dispatched("ended-without", delegation.Failed, gone),
		dispatched("never", delegation.Unclaimed, &inspect.Dispatcher{}),
		dispatched("unknown", delegation.Running, nil),
		with(newJob("by-us-too", "example.com/x", delegation.Running), func(j *inspect.Job) {
			j.Marks, j.Dispatcher = &delegation.Marks{Mirror: delegation.Place{ClusterUID: "c"}}, &inspect.Dispatcher{}
		}),
		newJob("of-another", "example.com/x", delegation.Running),
		newJob("of-nobody", delegation.BuiltIn, delegation.Running),
	)
}

// severalContexts returns Jobs from two contexts, and two contexts that could not be read.
func severalContexts() *inspect.OwnerList {
	list := listOf(
		newJob("train", delegation.MultiKueue, delegation.Pending),
		with(newJob("train", delegation.BuiltIn, delegation.Complete), func(j *inspect.Job) { j.Context, j.Namespace = "arn:aws:eks:eu-1:42:cluster/west", "team-a" }),
	)
	list.Errors = contextErrors()
	return list
}

func contextErrors() []inspect.ContextError {
	return []inspect.ContextError{
		{Context: "east", Code: kubecontext.CodeUnreachable, Message: "could not reach the cluster: connection refused"},
		{Context: "prod-north", Code: kubecontext.CodeForbidden, Message: "could not list jobs: jobs.batch is forbidden"},
	}
}

const (
	// evil clears the screen, goes back to the start of the line, and more.
	evil = "a\x1b[2J\rb\nc\td\u202ee\u200bf\xff"
	// wide has runes that take two cells of a terminal each.
	wide = "学習ジョブ🚀"
)

func hostile() *inspect.OwnerList {
	list := listOf(
		with(newJob("job-"+evil, delegation.Owner("owner-"+evil), delegation.Running), func(j *inspect.Job) {
			j.Context, j.Namespace, j.Kind, j.UID = "context-"+evil, "ns-"+evil, "kind-"+evil, "uid-"+evil
			j.Mirrors = []inspect.Ref{{Context: "mirror-" + evil}}
			j.Findings = []string{"finding-" + evil}
			j.Marks = &delegation.Marks{Mirror: delegation.Place{Name: evil}}
			j.Dispatcher = &inspect.Dispatcher{Holder: "holder-" + evil, Since: ago(time.Minute), Held: true}
		}),
		with(newJob("mild", delegation.Owner("owner-"+evil), delegation.Running), func(j *inspect.Job) {
			j.Mirrors = []inspect.Ref{{Context: "mirror-" + evil}, {}}
			j.Findings = []string{"finding-" + evil, ""}
		}),
	)
	list.Errors = []inspect.ContextError{{Context: "error-" + evil, Code: kubecontext.CodeError, Message: "message-" + evil}}
	return list
}

// printed returns the output of a printer.
func printed(t *testing.T, to func(*bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	assert.NilError(t, to(&out))
	return out.String()
}

func owners(t *testing.T, list *inspect.OwnerList, o printers.TableOptions) string {
	t.Helper()
	o.Now = now
	return printed(t, func(out *bytes.Buffer) error { return printers.Owners(out, list, o) })
}

func summary(t *testing.T, list *inspect.OwnerList, o printers.TableOptions) string {
	t.Helper()
	o.Now = now
	return printed(t, func(out *bytes.Buffer) error { return printers.Summary(out, list, o) })
}

// visible replaces escape characters by a visible sign.
func visible(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }
