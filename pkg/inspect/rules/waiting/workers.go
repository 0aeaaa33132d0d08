package waiting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workersCheckPending() view.Rule {
	return view.Rule{
		Code: "JM030", Severity: inspect.Warning,
		GracePeriod: 15 * time.Minute,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: detectWorkersCheckPending,
	}
}

func detectWorkersCheckPending(v *view.View) {
	for w := range unadmitted(v) {
		// Workers often have a check of the same name, with the same controller.
		pending := map[string][]view.Copy{}
		for _, o := range w.copies {
			for _, state := range o.Workload.Status.AdmissionChecks {
				if isPendingThere(o, state) {
					pending[state.Name] = append(pending[state.Name], o)
				}
			}
		}
		for _, o := range w.copies {
			for _, state := range o.Workload.Status.AdmissionChecks {
				switch {
				case state.State == kueue.CheckRejected:
					v.Report(workersCheck(v, w, o, state, []view.Copy{o}))
				case isPendingThere(o, state):
					v.Report(workersCheck(v, w, o, state, pending[state.Name]))
				}
			}
		}
	}
}

// isPendingThere reports whether a copy with quota waits for a check of its worker.
func isPendingThere(o view.Copy, state kueue.CheckState) bool {
	return state.State != kueue.CheckRejected && state.State != kueue.CheckReady && o.Workload.Is(kueue.QuotaReserved)
}

// workersCheck describes a check that keeps a copy from being admitted. pending are the copies of the
// Job that wait for a check of this name, which are one finding. A rejected copy is alone.
func workersCheck(v *view.View, w *waiter, o view.Copy, state kueue.CheckState, pending []view.Copy) view.Sighting {
	var contexts []string
	for _, c := range pending {
		contexts = append(contexts, c.Worker.Context)
	}
	where := inspect.And(contexts)
	passed, alone := cmp.Or(map[int]string{1: "has not passed", 2: "has passed on neither"}[len(pending)], "has passed on none"), "has not passed there"
	answer := answerOf(pending, state.Name)
	if !answer.IsNone() {
		passed, alone = answer.For(w.Job().Namespace+"/"+w.Job().Name), answer.String()
	}
	s := view.Sighting{
		Object: view.OfKueue(o.Worker, "AdmissionCheck", "", state.Name), Since: state.LastTransitionTime.Time, Severity: inspect.Warning,
		Message:  fmt.Sprintf("%s have quota on %s, but AdmissionCheck %s %s", quote.Plural(w.Job()), where, state.Name, passed),
		Clause:   fmt.Sprintf("it has quota on %s, but AdmissionCheck %s %s", where, state.Name, alone),
		Evidence: []string{quote.CheckState(view.OfWorkload(o.Worker, o.Workload), state)},
		Jobs:     []*inspect.Job{w.Job()}, Cause: strings.Join(contexts, " ") + " " + state.Name + " " + kueue.CheckPending + " " + w.Job().Kind,
		MayPass: state.State != kueue.CheckRejected,
	}
	if quota := o.Workload.Condition(kueue.QuotaReserved); view.IsTrue(quota) {
		s.Since = view.Latest(state.LastTransitionTime.Time, quota.LastTransitionTime.Time)
		s.Evidence = append(s.Evidence, quote.WorkloadCondition(o.Worker, o.Workload, quota))
	}
	if state.State == kueue.CheckRejected {
		check := fmt.Sprintf("AdmissionCheck %s of %s", state.Name, o.Worker.Context)
		s.Message, s.Clause = fmt.Sprintf("%s rejected %s: they never run there", check, quote.Plural(w.Job())), check+" rejected it: it never runs there"
		if answer.Text != "" {
			s.Message += fmt.Sprintf("; %s/%s: %s", w.Job().Namespace, w.Job().Name, answer.Text)
			s.Clause = fmt.Sprintf("%s rejected it (%s): it never runs there", check, answer.Text)
		}
		s.Cause = o.Worker.Context + " " + state.Name + " " + state.State + " " + w.Job().Kind
		// Kueue also deactivates the copy.
		s.Covers = []string{"JM124"}
		if w.isRejectedEverywhere() && w.wasOfferedToAll(v) {
			s.Severity = inspect.Error
		}
	}
	s.Remedy = readCheck(v, state, pending, answer)
	return s
}

// answerOf returns what a check last said about the copies of a Job, for each worker if the answers differ.
func answerOf(copies []view.Copy, check string) kueue.Answer {
	var answers []kueue.Answer
	var each []string
	for _, c := range copies {
		for _, state := range c.Workload.Status.AdmissionChecks {
			if state.Name == check {
				answer := c.Workload.Answer(state)
				answers, each = append(answers, answer), append(each, c.Worker.Context+" "+answer.String())
			}
		}
	}
	if len(slices.Compact(answers)) == 1 {
		return answers[0]
	}
	return kueue.Answer{Verb: "has not passed", Text: strings.Join(each, "; ")}
}

// readCheck returns how to find out why a check has not admitted the copies of a Job: which controller
// must answer, as far as that is known, and what it said.
func readCheck(v *view.View, state kueue.CheckState, copies []view.Copy, answer kueue.Answer) command.Prose {
	var unknown, workloads []command.Prose
	var names []string
	workersOf := map[string][]string{}
	for _, c := range copies {
		workloads = append(workloads, advice.KubectlObject(view.OfWorkload(c.Worker, c.Workload), "describe").Prose())
		check, _ := v.Check(c.Worker, state.Name)
		if check == nil || state.State == kueue.CheckRejected {
			unknown = append(unknown, advice.KubectlObject(view.OfKueue(c.Worker, "AdmissionCheck", "", state.Name), "describe").Prose())
			continue
		}
		name := check.Spec.ControllerName
		if workersOf[name] == nil {
			names = append(names, name)
		}
		workersOf[name] = append(workersOf[name], c.Worker.Context)
	}
	read := command.Say("read the %s: %s", whatToRead(answer), command.Join(append(unknown, workloads...), ", and "))
	return command.Join(append(checkControllers(names, workersOf, copies[0].Workload.Namespace, state), read), ", and ")
}

// checkControllers returns how to find out why the controllers of an AdmissionCheck have not let Workloads pass. contexts
// are the contexts of each, namespace is that of the Workloads, and state is that of the check in one of them. A
// controller that has written a message since the last eviction runs.
func checkControllers(names []string, contexts map[string][]string, namespace string, state kueue.CheckState) []command.Prose {
	var all []command.Prose
	for _, name := range names {
		if name != kueue.ProvisioningController {
			step := command.Say("check that controller %s runs on %s", name, inspect.And(contexts[name]))
			if state.Message != "" && !state.WasReset() {
				step = command.Say("resolve what AdmissionCheck %s reports, or ask the owner of controller %s", state.Name, name)
			}
			all = append(all, step)
			continue
		}
		var show []command.Prose
		for _, context := range contexts[name] {
			show = append(show, command.Kubectl(context, namespace, "get", "provisioningrequests.autoscaling.x-k8s.io").Prose())
		}
		all = append(all, command.Say("check that the cluster autoscaler on %s provides nodes for the ProvisioningRequests: %s",
			inspect.And(contexts[name]), command.Join(show, ", and ")))
	}
	return all
}

func kueueDownOnWorker() view.Rule {
	return view.Rule{
		Code: "JM031", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartQueues,
		},
		Detect: detectKueueDown,
	}
}

func detectKueueDown(v *view.View) {
	var found []idleCopy
	for w := range unadmitted(v) {
		for _, o := range w.copies {
			since, ok := v.UnevaluatedSince(o.Worker, o.Workload)
			if !ok {
				continue
			}
			// Without knowing the queue, there may be another explanation.
			if b, known := blockerOf(v, o); b == nil && known {
				awaited := v.AwaitsKueue(o.Worker, o.Workload, liveness.DutyQuota, "", o.Worker.Context, since)
				found = append(found, idleCopy{o, w, since, awaited})
			}
		}
	}
	down := map[*inspect.Facts][]string{}
	for _, c := range found {
		// A new copy says nothing about the Kueue of its worker.
		isDown := !c.awaited.IsAtWork() && !c.awaited.IsFresh(v.Now())
		if isDown && !slices.Contains(down[c.waiter.Manager], c.Worker.Context) {
			down[c.waiter.Manager] = append(down[c.waiter.Manager], c.Worker.Context)
		}
	}
	for _, workers := range down {
		slices.Sort(workers)
	}
	for _, c := range found {
		c.report(v, down[c.waiter.Manager])
	}
}

// idleCopy is a copy that Kueue on its worker has not processed.
type idleCopy struct {
	view.Copy
	waiter *waiter
	// since is by the clock of the worker.
	since   time.Time
	awaited *view.Awaited
}

// report reports a copy. down are the workers of its manager on which Kueue does not run.
func (o *idleCopy) report(v *view.View, down []string) {
	w, worker := o.waiter, o.Worker.Context
	s := view.Sighting{
		Object: view.OfKueue(w.Manager, "MultiKueueCluster", "", o.Cluster),
		Since:  v.On(w.Manager.Context, worker, o.since), Evidence: []string{quoteSilence(o.Copy)},
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context, Awaits: o.awaited,
	}
	// Another controller of Kueue than the scheduler says that a Workload waits for its evaluation.
	isSeen := len(o.Workload.Status.Conditions) > 0
	if o.awaited.IsAtWork() {
		s.Message = fmt.Sprintf("Kueue on %s processed later Workloads, but not these", worker)
		s.Clause = fmt.Sprintf("Kueue on %s processed later Workloads, but not this one", worker)
		if isSeen {
			s.Message, s.Clause = fmt.Sprintf("Kueue on %s works, but has not evaluated Workloads", worker), fmt.Sprintf("Kueue on %s works, but has not evaluated the Workload", worker)
		}
		s.Remedy = advice.CheckKueue(v, worker, o.awaited)
		s.Cause, s.Severity = s.Cause+" "+o.Cluster+" at work", inspect.Warning
		v.Report(s)
		return
	}
	if !slices.Contains(down, worker) {
		down = []string{worker}
	}
	s.Cause += " " + strings.Join(down, " ")
	var show []command.Prose
	for _, context := range down {
		show = append(show, kueue.ShowPods(context).Prose())
	}
	s.Message = fmt.Sprintf("Kueue on %s has not processed new Workloads", inspect.And(down))
	s.Clause = fmt.Sprintf("Kueue on %s has not processed the Workload", inspect.And(down))
	if isSeen {
		s.Message, s.Clause = fmt.Sprintf("Kueue on %s has not evaluated Workloads", inspect.And(down)), fmt.Sprintf("Kueue on %s has not evaluated the Workload", inspect.And(down))
	}
	s.Remedy = command.Say("check that Kueue runs there; see its Deployment and its Pods: %s", command.Join(show, ", and "))
	v.Report(s)
}
