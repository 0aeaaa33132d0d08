package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProbeResult says whether a probe succeeded.
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

// ProbeResults returns all results.
func ProbeResults() []ProbeResult {
	return []ProbeResult{ProbePassed, ProbeFailed, ProbeUnknown, ProbeInterrupted, ProbeNotRun}
}

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

// ProbeStepNames returns all steps in their order.
func ProbeStepNames() []ProbeStepName {
	return []ProbeStepName{
		ProbeCreated, ProbeQueued, ProbeReserved, ProbeOffered, ProbeAdmitted, ProbeMirrored, ProbeRunning, ProbeReported, ProbeCleaned,
	}
}

// ProbeStepState says whether a step succeeded.
type ProbeStepState string

// The states of steps.
const (
	StepDone       ProbeStepState = "done"
	StepFailed     ProbeStepState = "failed"
	StepUnknown    ProbeStepState = "unknown"
	StepNotReached ProbeStepState = "notReached"
)

// ProbeStepStates returns all states of steps.
func ProbeStepStates() []ProbeStepState {
	return []ProbeStepState{StepDone, StepFailed, StepUnknown, StepNotReached}
}

// ProbeReport is the output of doctor --probe.
type ProbeReport struct {
	metav1.TypeMeta `json:",inline"`
	// Result says whether the probe succeeded.
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
	// State says whether the step succeeded.
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
	for _, name := range ProbeStepNames() {
		r.Steps = append(r.Steps, ProbeStep{Name: name, State: StepNotReached})
	}
	return r
}

// Step returns the step with this name.
func (r *ProbeReport) Step(name ProbeStepName) *ProbeStep {
	return &r.Steps[slices.Index(ProbeStepNames(), name)]
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
