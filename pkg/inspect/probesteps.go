package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ProbeSteps returns the steps between the creation of a Job and its removal that an inventory
// shows, each with what it created. A later step implies the earlier ones: their objects may have
// disappeared since, or be on a cluster that no context reaches.
func (v *Inventory) ProbeSteps(p Pair) map[ProbeStepName]string {
	seen := map[ProbeStepName]string{}
	o := p.Origin
	if o == nil {
		return seen
	}
	manager := v.Facts(o.Context)
	if w := CurrentWorkload(v.WorkloadsOf(p, manager)); w != nil {
		v.addWorkloadSteps(seen, manager, w)
	}
	for _, m := range p.Current() {
		seen[ProbeMirrored] = fmt.Sprintf("Job %s/%s on %s", m.Job.Namespace, m.Job.Name, m.Job.Context)
		if showsPods(m.Job) {
			seen[ProbeRunning] = podsText(m.Job)
		}
	}
	if showsPods(o) {
		seen[ProbeReported] = podsText(o)
	}
	return seen
}

// addWorkloadSteps adds the steps that the manager's Workload shows.
func (v *Inventory) addWorkloadSteps(seen map[ProbeStepName]string, manager *Facts, w *kueue.Workload) {
	seen[ProbeQueued] = "Workload " + w.Name
	if w.Is(kueue.QuotaReserved) {
		seen[ProbeReserved] = ""
		if w.Status.Admission != nil {
			seen[ProbeReserved] = "in ClusterQueue " + w.Status.Admission.ClusterQueue
		}
	}
	// Kueue clears the nominated clusters once it has chosen a worker.
	if len(w.Status.Nominated) > 0 {
		seen[ProbeOffered] = "to " + strings.Join(w.Status.Nominated, ", ")
	}
	if name := w.ChosenCluster(); name != "" {
		seen[ProbeAdmitted] = "by " + name
		if context := v.ContextOf(manager, name); context != "" && context != name {
			seen[ProbeAdmitted] += " (context " + context + ")"
		}
	}
}

// showsPods says whether the status of a Job shows a Pod that is ready or has succeeded.
func showsPods(j *Job) bool {
	if j.Ready == nil {
		return j.Succeeded > 0 || j.Status == delegation.Complete || j.Active > 0
	}
	return j.Succeeded > 0 || j.Status == delegation.Complete || *j.Ready > 0
}

func podsText(j *Job) string {
	switch {
	case j.Succeeded > 0:
		return Count(int(j.Succeeded), "Pod") + " succeeded"
	case j.Ready != nil:
		return Count(int(*j.Ready), "Pod") + " ready"
	}
	return Count(int(j.Active), "Pod") + " active"
}

// Observe records the steps seen at now. last is the time of the previous step. Observe returns the
// time of the last step so far.
func (r *ProbeReport) Observe(seen map[ProbeStepName]string, last, now time.Time) time.Time {
	furthest := -1
	for i := range r.Steps {
		if _, ok := seen[r.Steps[i].Name]; ok {
			furthest = i
		}
	}
	for i := range r.Steps[:furthest+1] {
		s := &r.Steps[i]
		text, isSeen := seen[s.Name]
		switch {
		case s.State == StepDone && (s.Message != "" || !isSeen):
			continue
		case s.State == StepDone:
			s.Message = text
			continue
		}
		seconds := now.Sub(last).Round(time.Millisecond).Seconds()
		s.State, s.Message, s.Seconds = StepDone, text, &seconds
		r.TotalSeconds += seconds
		last = now
	}
	return last
}

// ProbeCluster returns the MultiKueueCluster that was chosen for a pair, "" if none was.
func (v *Inventory) ProbeCluster(p Pair) string {
	if p.Origin == nil {
		return ""
	}
	if w := CurrentWorkload(v.WorkloadsOf(p, v.Facts(p.Origin.Context))); w != nil {
		return w.ChosenCluster()
	}
	return ""
}

// Conclude sets the result and message of a finished probe. isUnread is whether the manager could
// not be read at the end. reason is the message if no trace explains the failure.
func (r *ProbeReport) Conclude(isUnread bool, reason string) {
	stopped := r.Stopped()
	if stopped == nil {
		r.Result, r.Trace = ProbePassed, nil
		return
	}
	r.Result = ProbeFailed
	if stopped.Name == ProbeCleaned {
		r.Trace = nil
		if stopped.State == StepUnknown {
			r.Result = ProbeUnknown
		}
		r.Message = "The Job got through, but not everything was removed."
		return
	}
	stopped.State = StepFailed
	r.Message = reason
	if isUnread {
		r.Result, stopped.State, r.Trace = ProbeUnknown, StepUnknown, nil
	}
	if r.Trace != nil {
		if r.Trace.Message != "" {
			r.Message = r.Trace.Message
		}
		r.Unchecked = append(r.Unchecked, r.Trace.Unchecked...)
	}
	if r.Message == "" && r.Trace != nil {
		r.Message = r.Trace.Phrase() + "."
	}
	stopped.Message = reason
}
