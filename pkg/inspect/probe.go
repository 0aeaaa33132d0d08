package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ProbeResult reports whether a probe succeeded.
type ProbeResult string

// The results of probes.
const (
	// ProbePassed means that the status of the Pods came back, and everything was removed.
	ProbePassed ProbeResult = "passed"
	// ProbeFailed means that a step was refused, failed, or did not happen in time.
	ProbeFailed ProbeResult = "failed"
	// ProbeUnknown means that a cluster which the answer depends on could not be read.
	ProbeUnknown ProbeResult = "unknown"
	// ProbeInterrupted means that a signal ended the probe.
	ProbeInterrupted ProbeResult = "interrupted"
	// ProbeNotRun means that nothing was submitted, because it was a dry run.
	ProbeNotRun ProbeResult = "notRun"
)

// ProbeStepName names a step of a probe.
type ProbeStepName string

// The steps of a probe, in their order.
const (
	// ProbeCreated means that the API server of the manager has stored the Job.
	ProbeCreated ProbeStepName = "created"
	// ProbeQueued means that Kueue has created a Workload for the Job.
	ProbeQueued ProbeStepName = "queued"
	// ProbeReserved means that the manager's ClusterQueue has reserved quota.
	ProbeReserved ProbeStepName = "quotaReserved"
	// ProbeOffered means that MultiKueue has offered the Workload to workers.
	ProbeOffered ProbeStepName = "offered"
	// ProbeAdmitted means that a worker has admitted the Workload.
	ProbeAdmitted ProbeStepName = "admitted"
	// ProbeMirrored means that the worker has the mirror.
	ProbeMirrored ProbeStepName = "mirrored"
	// ProbeRunning means that a Pod of the mirror runs, or has succeeded.
	ProbeRunning ProbeStepName = "running"
	// ProbeReported means that the origin shows the running Pod.
	ProbeReported ProbeStepName = "statusBack"
	// ProbeCleaned means that origin, mirror and Workloads are gone.
	ProbeCleaned ProbeStepName = "cleanedUp"
)

// probeStepNames returns all steps in their order.
func probeStepNames() []ProbeStepName {
	return []ProbeStepName{
		ProbeCreated, ProbeQueued, ProbeReserved, ProbeOffered, ProbeAdmitted, ProbeMirrored, ProbeRunning, ProbeReported, ProbeCleaned,
	}
}

// ProbeStepState reports whether a step succeeded.
type ProbeStepState string

// The states of steps.
const (
	StepDone       ProbeStepState = "done"
	StepFailed     ProbeStepState = "failed"
	StepUnknown    ProbeStepState = "unknown"
	StepNotReached ProbeStepState = "notReached"
)

// ProbeReport is the output of doctor --probe.
type ProbeReport struct {
	metav1.TypeMeta `json:",inline"`
	// Result reports whether the probe succeeded.
	Result ProbeResult `json:"result"`
	// Message is the reason of a failure in one or two sentences, as in a trace; empty if the probe
	// passed.
	Message string `json:"message"`
	// Context is the management cluster that the Job was submitted to.
	Context string `json:"context"`
	// Namespace is the namespace of the Job.
	Namespace string `json:"namespace"`
	// Queue is the LocalQueue that the Job was submitted to.
	Queue string `json:"queue"`
	// Name is the name of the Job.
	Name string `json:"name"`
	// UID is the UID of the Job; empty if it was not created.
	UID string `json:"uid"`
	// Cluster is the MultiKueueCluster that admitted the Job; empty if none did.
	Cluster string `json:"cluster"`
	// DryRun is client or server in a dry run; absent otherwise.
	DryRun string `json:"dryRun,omitempty"`
	// Manifest is the Job that would be created; absent unless this was a dry run.
	Manifest map[string]any `json:"manifest,omitempty"`
	// TotalSeconds is how long the probe took, from the request that creates the Job to the last
	// step.
	TotalSeconds float64 `json:"totalSeconds"`
	// Steps are all steps in their order.
	Steps []ProbeStep `json:"steps"`
	// Workers are the answers of the workers about the Job and its Pods in a server-side dry run;
	// empty unless all workers were asked.
	Workers []ProbeWorker `json:"workers"`
	// Trace explains why the Job did not proceed, as trace does; absent if the probe passed, or the
	// Job was not read.
	Trace *Trace `json:"trace,omitempty"`
	// Left are objects that the probe could not remove, or that may still exist.
	Left []ProbeLeft `json:"left"`
	// Unchecked is what the result depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// ProbeStep is one step of a probe.
type ProbeStep struct {
	// Name names the step.
	Name ProbeStepName `json:"name"`
	// State reports whether the step succeeded.
	State ProbeStepState `json:"state"`
	// Seconds is the time from the previous step to this one, as seen by the probe; null if the
	// step did not succeed.
	Seconds *float64 `json:"seconds"`
	// Message says what the step created, or why it did not succeed.
	Message string `json:"message"`
}

// ProbeWorker is the answer of a worker about the Job and its Pods.
type ProbeWorker struct {
	// Cluster is the name of the MultiKueueCluster.
	Cluster string `json:"cluster"`
	// Context is the context of the worker; empty if none reaches it.
	Context string `json:"context"`
	// Verdict is fits, waits, never or unknown, as in the placements of a trace.
	Verdict Verdict `json:"verdict"`
	// Message says why; empty if the Job fits.
	Message string `json:"message"`
	// Remedy says what to do, with commands in backquotes; empty if there is nothing to do.
	Remedy string `json:"remedy"`
}

// ProbeLeft is an object that a probe left behind.
type ProbeLeft struct {
	// Context is the context of the object.
	Context string `json:"context"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Reason says why the object remains, or why that is unknown.
	Reason string `json:"reason"`
	// Command removes the object; each element is one word.
	Command []string `json:"command"`
}

// NewProbeReport returns a report of a probe that has not started.
func NewProbeReport() *ProbeReport {
	r := &ProbeReport{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "ProbeReport"}, Result: ProbeUnknown,
		Workers: []ProbeWorker{}, Left: []ProbeLeft{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
	for _, name := range probeStepNames() {
		r.Steps = append(r.Steps, ProbeStep{Name: name, State: StepNotReached})
	}
	return r
}

// Step returns the step with this name.
func (r *ProbeReport) Step(name ProbeStepName) *ProbeStep {
	return &r.Steps[slices.Index(probeStepNames(), name)]
}

// Stopped returns the first step that did not succeed, nil if all did.
func (r *ProbeReport) Stopped() *ProbeStep {
	for i := range r.Steps {
		if r.Steps[i].State != StepDone {
			return &r.Steps[i]
		}
	}
	return nil
}

// DeepCopyObject returns a copy that shares no mutable part with r.
func (r *ProbeReport) DeepCopyObject() runtime.Object {
	c := *r
	c.Steps, c.Workers, c.Left = slices.Clone(r.Steps), slices.Clone(r.Workers), slices.Clone(r.Left)
	c.Unchecked, c.Errors = slices.Clone(r.Unchecked), slices.Clone(r.Errors)
	if r.Manifest != nil {
		c.Manifest = runtime.DeepCopyJSON(r.Manifest)
	}
	if t, ok := r.traceCopy(); ok {
		c.Trace = t
	}
	return &c
}

func (r *ProbeReport) traceCopy() (*Trace, bool) {
	if r.Trace == nil {
		return nil, false
	}
	t, ok := r.Trace.DeepCopyObject().(*Trace)
	return t, ok
}

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

// showsPods reports whether the status of a Job shows a Pod that is ready or has succeeded.
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
