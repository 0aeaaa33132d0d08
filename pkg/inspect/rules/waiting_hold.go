package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// hold is why a cluster's Kueue has reserved no quota for a Workload.
type hold int

const (
	// heldNot: it has quota, or nobody has said anything that tells.
	heldNot hold = iota
	heldForLocalQueue
	heldForClusterQueue
	heldByStop
	heldByNamespace
	heldForRoom
	// heldForGood: it asks for what the quota can never hold, or no flavor has.
	heldForGood
	// heldByTopology: what it asks for is not near enough to each other, until nodes change,
	// whoever else ends.
	heldByTopology
	heldByMistake
	// heldForOthers: others have to do something first, as is meant.
	heldForOthers
	// heldByItself: its own controller does not want it to run.
	heldByItself
)

// holdByReason is why a Workload waits, by a reason that says so by itself.
func holdByReason(reason string) hold {
	switch reason {
	case kueue.WaitingForQuota:
		return heldForRoom
	case kueue.TopologyFailed:
		return heldByTopology
	case kueue.ExceedsMaxQuota, kueue.NoMatchingFlavor:
		return heldForGood
	case kueue.QueueSuspended:
		return heldByStop
	case kueue.PreemptedFirst, kueue.PodsReadyFirst, kueue.AdmissionGated:
		return heldForOthers
	case kueue.OnHold:
		return heldByItself
	}
	return heldNot
}

// holdOf tells why a Workload has no quota, with the condition that says so.
func holdOf(w *kueue.Workload) (hold, *metav1.Condition) {
	quota := w.Condition(kueue.QuotaReserved)
	if !isFalse(quota) || !w.IsActive() || w.Is(kueue.Finished) {
		return heldNot, nil
	}
	held := holdByReason(quota.Reason)
	switch quota.Reason {
	case kueue.AdmissionGated:
		// The gate may be MultiKueue's own, of which JM033 tells.
		if w.Is(blockedOnGates) {
			return heldNot, nil
		}
	case kueue.Misconfigured, kueue.Inadmissible, kueue.UnresolvedDevices:
		held = cmp.Or(holdByQueue(quota.Message), heldByMistake)
	case kueue.PendingLegacy:
		held = cmp.Or(holdByQueue(quota.Message), holdByQuota(quota.Message))
	default:
		if held == heldNot {
			return heldNot, nil
		}
	}
	return held, quota
}

// holdByQueue reads Kueue's messages about queues (kueue: workload_controller.go,
// scheduler.go).
func holdByQueue(message string) hold {
	isMissing := strings.HasSuffix(message, " doesn't exist") || strings.HasSuffix(message, " is terminating or missing") ||
		strings.HasSuffix(message, " not found")
	isStopped := strings.HasSuffix(message, " is inactive") || strings.HasSuffix(message, " is stopped")
	isLocal, isCluster := strings.HasPrefix(message, "LocalQueue "), strings.HasPrefix(message, "ClusterQueue ")
	switch {
	case isLocal && isMissing:
		return heldForLocalQueue
	case isCluster && isMissing:
		return heldForClusterQueue
	case isStopped && (isLocal || isCluster):
		return heldByStop
	case strings.Contains(message, "doesn't match ClusterQueue selector"):
		return heldByNamespace
	}
	return heldNot
}

// holdByQuota reads Kueue's messages about quota (kueue: flavorassigner.go). They
// tell of one flavor after the other; one that may have room some day is enough.
func holdByQuota(message string) hold {
	switch lacks := kueue.Lacks(message); {
	case kueue.Lacking(lacks, kueue.MoreNeeded):
		return heldForRoom
	case kueue.Lacking(lacks, kueue.TooMuch, kueue.NoSuchResource):
		return heldForGood
	}
	return heldNot
}

// trouble is what is wrong with a queue that a Workload waits in.
type trouble struct {
	object Object
	// what is wrong with the object, in words that follow its name.
	what     string
	since    time.Time
	evidence []string
	remedy   command.Prose
	// isMeant is whether somebody has asked for it.
	isMeant bool
}

// reportHeld reports what holds the copies of those that wait for workers, as far
// as it is one of these.
func reportHeld(v *View, holds ...hold) {
	var sightings []Sighting
	for w := range v.untaken() {
		var troubles []trouble
		for _, o := range w.copies {
			if t, ok := v.troubleOf(w, o, holds); ok {
				troubles = append(troubles, t)
			}
		}
		for _, those := range grouped(troubles, func(t trouble) string { return named(t.object) }) {
			sightings = append(sightings, heldOnWorkers(w, those.key, those.values))
		}
	}
	reportWorstFirst(v, sightings)
}

func (v *View) troubleOf(w *waiter, o Copy, holds []hold) (trouble, bool) {
	held, condition := holdOf(o.Workload)
	if !slices.Contains(holds, held) {
		return trouble{}, false
	}
	like := ""
	if w.Workload.Status.Admission != nil {
		like = w.Workload.Status.Admission.ClusterQueue
	}
	return v.trouble(o.Worker, o.Workload, held, condition, like)
}

// heldOnWorkers is the sighting of one trouble on several workers.
func heldOnWorkers(w *waiter, key string, troubles []trouble) Sighting {
	var contexts, evidence []string
	var remedies []command.Prose
	for _, t := range troubles {
		contexts = append(contexts, t.object.Context)
		evidence = append(evidence, t.evidence...)
		remedies = append(remedies, t.remedy)
	}
	first := troubles[0]
	s := Sighting{
		Object: first.object, Since: first.since, Evidence: evidence, Remedy: command.Join(remedies, "; "),
		Message: fmt.Sprintf("%s %s on %s", key, first.what, strings.Join(contexts, ", ")),
		Jobs:    []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + key, Severity: inspect.Warning,
	}
	if w.isStuck() {
		s.Severity, s.Message = inspect.Error, s.Message+", and no other worker can take the "+w.Job().Kind
	}
	return s
}

// reportWorstFirst reports sightings so that where several become one finding, the
// worst gives it its severity.
func reportWorstFirst(v *View, sightings []Sighting) {
	slices.SortStableFunc(sightings, func(a, b Sighting) int { return a.Severity.Compare(b.Severity) })
	for _, s := range sightings {
		v.Report(s)
	}
}

// conditionText quotes a condition of an object.
func conditionText(o Object, c *metav1.Condition) string {
	text := fmt.Sprintf("%s: condition %s of %s is %s since %s", o.Context, c.Type, named(o), c.Status, stamp(c.LastTransitionTime))
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	if c.Message != "" {
		text += ": " + c.Message
	}
	return text
}

func workloadObject(f *inspect.Facts, w *kueue.Workload) Object {
	return OfKueue(f, "Workload", w.Namespace, w.Name)
}
