package chain

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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// States of hops without a readable object.
const (
	stateNotFound = "NotFound"
	stateUnknown  = "Unknown"
)

// missing completes the hop of an object that was not found, or that could not be read because of
// err.
func missing(h inspect.Hop, err error, message string) inspect.Hop {
	if err != nil {
		e := kubecontext.InContext(h.Context, "", err)
		h.State, h.Health, h.Message = e.Code().Label(), inspect.HealthUnknown, e.Message()
		if r := inspect.RefusalOf(err); r != nil {
			// The output has one fix for all hops, below them.
			h.Message = r.String()
		}
		return h
	}
	h.State, h.Health, h.Message = stateNotFound, inspect.HealthBad, message
	return h
}

// setActive sets a hop's state from an Active condition.
func setActive(h *inspect.Hop, conditions []metav1.Condition) {
	c := meta.FindStatusCondition(conditions, kueue.Active)
	switch {
	case c == nil:
		h.State, h.Health, h.Message = stateUnknown, inspect.HealthWaiting, "no controller has written its status"
		return
	case c.Status == metav1.ConditionTrue:
		h.State, h.Health = kueue.Active, inspect.HealthOK
	default:
		h.State, h.Health, h.Message = cmp.Or(c.Reason, "Inactive"), inspect.HealthBad, c.Message
	}
	h.Since = c.LastTransitionTime.DeepCopy()
}

func jobHop(j *inspect.Job) inspect.Hop {
	h := inspect.Hop{Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, Context: j.Context, State: string(j.Status), Since: j.Since}
	switch j.Status {
	case delegation.Complete, delegation.Running:
		h.Health = inspect.HealthOK
	case delegation.Failed, delegation.Unclaimed:
		h.Health = inspect.HealthBad
	default:
		h.Health = inspect.HealthWaiting
	}
	return h
}

// WorkloadHop returns the hop of a Workload, with its progress as the state.
func WorkloadHop(f *inspect.Facts, w *kueue.Workload) inspect.Hop {
	h := inspect.Hop{Kind: "Workload", Namespace: w.Namespace, Name: w.Name, Context: f.Context, Health: inspect.HealthWaiting}
	by := func(state string, health inspect.Health, c *metav1.Condition, message string) inspect.Hop {
		h.State, h.Health, h.Message = state, health, message
		if c != nil {
			h.Since = c.LastTransitionTime.DeepCopy()
		}
		return h
	}
	finished, stop := w.Condition(kueue.Finished), w.Stop()
	quota := w.Condition(kueue.QuotaReserved)
	switch {
	case w.DeletionTimestamp != nil:
		return by("Terminating", inspect.HealthWaiting, &metav1.Condition{LastTransitionTime: *w.DeletionTimestamp}, "waits for "+strings.Join(w.Finalizers, ", "))
	case w.Is(kueue.Finished):
		health := inspect.HealthOK
		// Kueue replaces the Workload of an elastic Job when its size changes.
		if !slices.Contains([]string{"", "Succeeded", "WorkloadSliceReplaced"}, finished.Reason) {
			health = inspect.HealthBad
		}
		return by(kueue.Finished, health, finished, ReasonAndMessage(finished))
	case !w.IsActive():
		return by("Deactivated", inspect.HealthBad, stop, ReasonAndMessage(stop))
	case w.Is(kueue.Evicted):
		return by(kueue.Evicted, inspect.HealthWaiting, stop, evictionMessage(w))
	case w.Is(kueue.Admitted):
		return by(kueue.Admitted, inspect.HealthOK, w.Condition(kueue.Admitted), podsMessage(w))
	case w.Is(kueue.QuotaReserved):
		if not := w.Condition(kueue.Admitted); not != nil && not.Reason == kueue.DelayedTopology {
			return by(kueue.QuotaReserved, inspect.HealthWaiting, quota, "waits for places in the topology of nodes")
		}
		return by(kueue.QuotaReserved, inspect.HealthWaiting, quota, "")
	case quota == nil:
		return by("Pending", inspect.HealthWaiting, nil, unreportedReason(f, w))
	}
	return by("Pending", inspect.HealthWaiting, quota, ReasonAndMessage(quota))
}

// evictionMessage returns why a Workload was evicted, and when Kueue queues it again, if that is known.
func evictionMessage(w *kueue.Workload) string {
	message := ReasonAndMessage(w.Stop())
	if wait := w.Waiting(); wait.HasKnownEnd() {
		message += "; " + wait.EndText()
	}
	return message
}

// unreportedReason explains a Workload without a QuotaReserved condition.
func unreportedReason(f *inspect.Facts, w *kueue.Workload) string {
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

// ReasonAndMessage returns "Reason: message" of a condition, "" for nil.
func ReasonAndMessage(c *metav1.Condition) string {
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
func podsHop(f *inspect.Facts, j *inspect.Job, pods []*inspect.Pod) inspect.Hop {
	h := inspect.Hop{Kind: "Pods", Namespace: j.Namespace, Name: j.Name, Context: f.Context, Health: inspect.HealthOK}
	counts, examples := map[string]int{}, map[string]*inspect.Pod{}
	for _, p := range pods {
		counts[p.Reason]++
		if f.PodMessage(p) != "" && examples[p.Reason] == nil {
			examples[p.Reason] = p
		}
	}
	reasons := slices.Collect(maps.Keys(counts))
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var states, messages []string
	for _, reason := range reasons {
		states = append(states, fmt.Sprintf("%d %s", counts[reason], reason))
		if example := examples[reason]; example != nil {
			messages = append(messages, fmt.Sprintf("%s: %s", example.Name, f.PodMessage(example)))
		}
	}
	for _, p := range pods {
		switch {
		case p.Phase == "Failed" || f.PodMessage(p) != "":
			h.Health = inspect.HealthBad
		case (p.Phase == "Pending" || p.IsTerminating()) && h.Health == inspect.HealthOK:
			h.Health = inspect.HealthWaiting
		}
	}
	h.State, h.Message = strings.Join(states, ", "), strings.Join(messages, "; ")
	return h
}
