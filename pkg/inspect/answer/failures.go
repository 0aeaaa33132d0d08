package answer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
)

// addFailed adds to the answer for a failed Job how its Pods ended, and how to read their logs.
// MultiKueue deletes a mirror with its Pods once the Job has ended: then the answer says where it ran.
func (q *Question) addFailed(a *Answer) {
	o := q.Pair.Origin
	jobs := []*inspect.Job{o}
	for _, m := range q.Pair.Current() {
		jobs = append(jobs, m.Job)
	}
	for _, j := range jobs {
		if s := q.failuresOf(j); s != nil && len(s.Pods) > 0 {
			a.Message = strings.TrimSpace(a.Message + " " + exitCodes(s.Pods))
			a.Fixes = q.endFailures(o, s)
			return
		}
	}
	for _, j := range jobs {
		// The mirror of a delegated object that is gone was on another cluster.
		if fix, isRefused := advice.AcceptPods(o, j, j.Failure); isRefused && !j.IsDelegated() {
			a.Fixes = fix.Reached(q.Reach).Fixes()
		}
	}
	manager := q.Inventory.Facts(o.Context)
	if len(q.Pair.Mirrors) > 0 || manager == nil || manager.Kueue == nil {
		return
	}
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, manager))
	if w == nil || w.ChosenCluster() == "" {
		return
	}
	place := w.ChosenCluster()
	if context := q.Inventory.ContextOf(manager, place); context != "" {
		place += " (" + context + ")"
	}
	a.Message = strings.TrimSpace(fmt.Sprintf("%s It ran on %s; MultiKueue deletes its Pods and their logs there.", a.Message, place))
}

// addEnd adds why the mirror of a Job failed, if the answer has another reason: the origin does not say it.
func (q *Question) addEnd(a *Answer, mirrors []inspect.Mirror) {
	o := q.Pair.Origin
	if len(mirrors) == 0 || a.State != inspect.StateFailed || o == nil || o.Status.IsFinished() {
		return
	}
	if why := ending(mirrors[0].Job); !strings.Contains(a.Message, why) {
		a.Message = strings.TrimSpace(a.Message + " " + why)
	}
}

// addDecision makes it the answer for a Job how it will end, if that is decided and only Pods have not ended.
// Retries no longer matter then. The usual end of a Job, after all completions, needs no words.
func (q *Question) addDecision(a *Answer, j *inspect.Job) {
	d := j.Decision
	if d == nil || d.IsUsual() || a.State.IsFinished() || a.State == inspect.StateTerminating {
		return
	}
	a.State, a.Reason, a.Message = inspect.StateRunning, inspect.ReasonNone, "It "+d.String()
	if d.Fails {
		a.State = inspect.StateFailing
		if !j.IsPart() {
			a.Fixes = q.endFailures(q.Pair.Jobs()[0], q.failuresOf(j))
		}
	}
	if n := count(q.Inventory.Facts(j.Context).PodsOf(j), (*inspect.Pod).IsOpen); n > 0 {
		have := "have"
		if n == 1 {
			have = "has"
		}
		a.Reason = inspect.ReasonPods
		a.Message += fmt.Sprintf("; %s %s not ended", inspect.Count(n, "Pod"), have)
	}
	a.Message = sentence(a.Message)
}

// addInvalid makes it the answer for a Job that its controller does not start it because its spec is invalid.
func (q *Question) addInvalid(a *Answer, j *inspect.Job) {
	if j.Invalid == nil || a.State.IsFinished() || a.State == inspect.StateTerminating {
		return
	}
	message := "Its spec is invalid"
	if j != q.Pair.Origin {
		message = fmt.Sprintf("The spec of its mirror on %s is invalid", j.Context)
	}
	a.State, a.Reason = inspect.StateBlocked, inspect.ReasonSetup
	a.Message = sentence(strings.TrimSuffix(message+": "+*j.Invalid, ": "))
	if o := q.Pair.Origin; o != nil && !o.IsPart() {
		a.Fixes = advice.CreateAgainWith(o, "with a valid spec").Reached(q.Reach).Fixes()
	}
}

// keepDecision adds to the answer for a Job how it will end, if a finding about its Pods is the answer.
func (q *Question) keepDecision(a *Answer, mirrors []inspect.Mirror) {
	j := q.Pair.Origin
	if len(mirrors) > 0 {
		j = mirrors[0].Job
	}
	isRunning := a.State == inspect.StateRunning || a.State == inspect.StateFailing
	if j == nil || j.Decision == nil || !isRunning || strings.Contains(a.Message, j.Decision.String()) {
		return
	}
	a.Message = strings.TrimSpace(a.Message + " " + sentence("It "+j.Decision.String()))
}

// addFailing adds to the answer for a Job that runs or starts which of its Pods failed or restarted. If
// none runs, the Job is failing.
func (q *Question) addFailing(a *Answer, j *inspect.Job) {
	s := q.failuresOf(j)
	if s == nil || a.State.IsFinished() || a.Reason == inspect.ReasonUnschedulable {
		return
	}
	if len(s.Pods) > 0 && a.State == inspect.StateStarting {
		a.State = inspect.StateFailing
	}
	texts := []string{a.Message, sentence(s.Failures()), sentence(s.Restarts())}
	a.Message = strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
	if a.State == inspect.StateFailing && !j.IsPart() {
		a.Fixes = q.endFailures(q.Pair.Jobs()[0], s)
	}
}

// addRestarts adds to the answer for an object of another kind than Job that its controller restarts it, or has
// restarted it. If it restarts, or none of its Pods runs again, it is failing.
func (q *Question) addRestarts(a *Answer, j *inspect.Job) {
	isStarting := a.State == inspect.StateStarting && a.Reason != inspect.ReasonUnschedulable
	if j.Restarts == nil || !isStarting && a.State != inspect.StateRunning && a.State != inspect.StateFailing {
		return
	}
	a.Message = strings.TrimSpace(a.Message + " " + sentence("it "+j.Restarts.String()))
	if !j.Restarts.Now && (!isStarting || !j.Restarts.IsLate()) {
		return
	}
	a.State = inspect.StateFailing
	if !j.IsPart() {
		a.Fixes = q.endFailures(q.Pair.Jobs()[0], q.failuresOf(j))
	}
}

// endFailures returns the fixes for failures of a Job's Pods, or commands that show why they fail.
func (q *Question) endFailures(j *inspect.Job, s *inspect.PodFailures) []command.Fix {
	return advice.EndFailures(j, s).Reached(q.Reach).Fixes()
}

// failuresOf returns the failures of a Job's Pods on its cluster, nil if there are none.
func (q *Question) failuresOf(j *inspect.Job) *inspect.PodFailures {
	return q.Inventory.Facts(j.Context).PodFailures(j)
}

// exitCodes returns the exit codes of failed Pods as a sentence, "" if there are none.
func exitCodes(failed []*inspect.Pod) string {
	var codes []int
	for _, p := range failed {
		if code := int(p.ExitCode); code != 0 && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	texts := make([]string, len(codes))
	for i, code := range codes {
		texts[i] = strconv.Itoa(code)
	}
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return "Exit code " + texts[0] + "."
	}
	return "Exit codes " + list(texts) + "."
}
