package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Hop is one object on the chain from an origin to its Pods.
type Hop struct {
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Context is the context of the object; empty if no context reaches it.
	Context string `json:"context"`
	// State is a state in the object's own words, or NotFound, Forbidden, Unreachable or Unknown.
	State string `json:"state"`
	// Message says more, in the words of the object's controller.
	Message string `json:"message"`
	// Health is what State means for the chain.
	Health Health `json:"health"`
	// Since is when State began; null if unknown.
	Since *metav1.Time `json:"since"`
	// Depth is how many hops precede this one in the chain. Its parent is the last hop before it
	// with a smaller depth.
	Depth int `json:"depth"`
}

// Health says whether the chain continues at a hop.
type Health string

// The values of Health.
const (
	// HealthOK means that the object is as it should be.
	HealthOK Health = "ok"
	// HealthWaiting means that the object is not ready yet.
	HealthWaiting Health = "waiting"
	// HealthBad means that the chain cannot continue without help.
	HealthBad Health = "bad"
	// HealthUnknown means that the object could not be checked.
	HealthUnknown Health = "unknown"
)

// Healths returns all values of Health.
func Healths() []Health { return []Health{HealthOK, HealthWaiting, HealthBad, HealthUnknown} }

// States of hops without a readable object.
const (
	stateNotFound = "NotFound"
	stateUnknown  = "Unknown"
)

// missing completes the hop of an object that was not found, or that could not be read because of
// err.
func missing(h Hop, err error, message string) Hop {
	if err != nil {
		e := kubecontext.InContext(h.Context, "", err)
		h.State, h.Health, h.Message = string(e.Code()), HealthUnknown, e.Message()
		if r := refusalOf(err); r != nil {
			// The output has one fix for all hops, below them.
			h.Message = r.String()
		}
		return h
	}
	h.State, h.Health, h.Message = stateNotFound, HealthBad, message
	return h
}

// active sets a hop's state from an Active condition.
func (h *Hop) active(conditions []metav1.Condition) {
	c := meta.FindStatusCondition(conditions, kueue.Active)
	switch {
	case c == nil:
		h.State, h.Health, h.Message = stateUnknown, HealthWaiting, "no controller has written its status"
		return
	case c.Status == metav1.ConditionTrue:
		h.State, h.Health = kueue.Active, HealthOK
	default:
		h.State, h.Health, h.Message = cmp.Or(c.Reason, "Inactive"), HealthBad, c.Message
	}
	h.Since = c.LastTransitionTime.DeepCopy()
}

func jobHop(j *Job) Hop {
	h := Hop{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, Context: j.Context, State: string(j.Status), Since: j.Since}
	switch j.Status {
	case delegation.Complete, delegation.Running:
		h.Health = HealthOK
	case delegation.Failed, delegation.Unclaimed:
		h.Health = HealthBad
	default:
		h.Health = HealthWaiting
	}
	return h
}

// WorkloadHop returns the hop of a Workload, with its progress as the state.
func WorkloadHop(f *Facts, w *kueue.Workload) Hop {
	h := Hop{Kind: "Workload", Namespace: w.Namespace, Name: w.Name, Context: f.Context, Health: HealthWaiting}
	by := func(state string, health Health, c *metav1.Condition, message string) Hop {
		h.State, h.Health, h.Message = state, health, message
		if c != nil {
			h.Since = c.LastTransitionTime.DeepCopy()
		}
		return h
	}
	finished, evicted := w.Condition(kueue.Finished), w.Condition(kueue.Evicted)
	quota := w.Condition(kueue.QuotaReserved)
	switch {
	case w.DeletionTimestamp != nil:
		return by("Terminating", HealthWaiting, &metav1.Condition{LastTransitionTime: *w.DeletionTimestamp}, "waits for "+strings.Join(w.Finalizers, ", "))
	case w.Is(kueue.Finished):
		health := HealthOK
		// Kueue replaces the Workload of an elastic Job when its size changes.
		if !slices.Contains([]string{"", "Succeeded", "WorkloadSliceReplaced"}, finished.Reason) {
			health = HealthBad
		}
		return by(kueue.Finished, health, finished, Reasoned(finished))
	case !w.IsActive():
		return by("Deactivated", HealthBad, evicted, Reasoned(evicted))
	case w.Is(kueue.Evicted):
		return by(kueue.Evicted, HealthWaiting, evicted, Reasoned(evicted))
	case w.Is(kueue.Admitted):
		return by(kueue.Admitted, HealthOK, w.Condition(kueue.Admitted), podsMessage(w))
	case w.Is(kueue.QuotaReserved):
		if not := w.Condition(kueue.Admitted); not != nil && not.Reason == kueue.DelayedTopology {
			return by(kueue.QuotaReserved, HealthWaiting, quota, "waits for places in the topology of nodes")
		}
		return by(kueue.QuotaReserved, HealthWaiting, quota, "")
	case quota == nil:
		return by("Pending", HealthWaiting, nil, silence(f, w))
	}
	return by("Pending", HealthWaiting, quota, Reasoned(quota))
}

// silence explains a Workload without a QuotaReserved condition.
func silence(f *Facts, w *kueue.Workload) string {
	b := f.BlockerOf(w)
	switch {
	case b == nil:
		return "Kueue has reported nothing yet"
	case b.IsHead:
		return fmt.Sprintf("waits behind Workload %s/%s in ClusterQueue %s, which is StrictFIFO", b.Workload.Namespace, b.Workload.Name, b.Queue.Name)
	}
	return fmt.Sprintf("equals Workload %s/%s, for which ClusterQueue %s has no free quota", b.Workload.Namespace, b.Workload.Name, b.Queue.Name)
}

func podsMessage(w *kueue.Workload) string {
	if c := w.Condition(kueue.PodsReady); c != nil && c.Status != metav1.ConditionTrue {
		return c.Message
	}
	return ""
}

// Reasoned returns "Reason: message" of a condition, "" for nil.
func Reasoned(c *metav1.Condition) string {
	switch {
	case c == nil:
		return ""
	case c.Message == "":
		return c.Reason
	case c.Reason == "":
		return c.Message
	}
	return c.Reason + ": " + c.Message
}

// podsHop sums up a Job's Pods in one hop: how many are in which state, with an example of each
// problem.
func podsHop(f *Facts, j *Job, pods []*Pod) Hop {
	h := Hop{Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context, Health: HealthOK}
	counts, examples := map[string]int{}, map[string]*Pod{}
	for _, p := range pods {
		counts[p.Reason]++
		if p.Message != "" && examples[p.Reason] == nil {
			examples[p.Reason] = p
		}
	}
	reasons := slices.Collect(maps.Keys(counts))
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var states, messages []string
	for _, reason := range reasons {
		states = append(states, fmt.Sprintf("%d %s", counts[reason], reason))
		if example := examples[reason]; example != nil {
			messages = append(messages, fmt.Sprintf("%s: %s", example.Name, example.Message))
		}
	}
	for _, p := range pods {
		switch {
		case p.Phase == "Failed" || p.Message != "":
			h.Health = HealthBad
		case p.Phase == "Pending" && h.Health == HealthOK:
			h.Health = HealthWaiting
		}
	}
	h.State, h.Message = strings.Join(states, ", "), strings.Join(messages, "; ")
	return h
}
