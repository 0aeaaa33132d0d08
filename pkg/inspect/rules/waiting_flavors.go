package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// misfit is why Kueue does not take a flavor for a Workload (kueue: flavorassigner.go;
// reference: capacity.md).
type misfit struct {
	// what it is, in words that begin with the flavor or the resource.
	what string
	// isQuota is whether more quota would help.
	isQuota bool
	// remedy is what else would help, "" for nothing.
	remedy string
}

// The messages of Kueue's flavor assigner. What is in them is the author's of queues and
// flavors.
var (
	tooMuch     = regexp.MustCompile(`insufficient quota for (\S+) in flavor (\S+), previously considered podsets requests \((\S+)\) \+ current podset request \((\S+)\) > maximum capacity \((\S+)\)`)
	moreNeeded  = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed`)
	untolerated = regexp.MustCompile(`untolerated taint \{(\S+) (\S*) ?(NoSchedule|NoExecute|PreferNoSchedule) [^}]*\} in flavor ([^\s,]+)`)
	noSuchLabel = regexp.MustCompile(`flavor (\S+) doesn't match node affinity`)
	noSuchKind  = regexp.MustCompile(`resource (\S+) unavailable in ClusterQueue`)
	noFlavor    = regexp.MustCompile(`flavor (\S+) not found`)
	noTopology  = regexp.MustCompile(`Flavor "([^"]+)" does not support TopologyAwareScheduling`)
	noPlaceNear = regexp.MustCompile(`topology "([^"]+)" (?:allows to fit only (\d+) out of (\d+)|doesn't allow to fit any of (\d+)) pod\(s\)`)
)

// misfitsIn reads why Kueue takes none of the flavors, in the order in which the kinds
// of reasons stand here; none where the message says something else.
func misfitsIn(message string) []misfit {
	var found []misfit
	for _, m := range tooMuch.FindAllStringSubmatch(message, -1) {
		asks := m[4]
		if m[3] != "0" {
			asks = m[4] + " (after " + m[3] + " for its other pods)"
		}
		found = append(found, misfit{what: fmt.Sprintf("it asks for %s %s, and %s is the most that flavor %s can ever give, with what may be borrowed", asks, m[1], m[5], m[2]), isQuota: true})
	}
	for _, m := range moreNeeded.FindAllStringSubmatch(message, -1) {
		found = append(found, misfit{what: fmt.Sprintf("%s more %s needed in flavor %s", m[3], m[1], m[2]), isQuota: true})
	}
	for _, m := range noSuchLabel.FindAllStringSubmatch(message, -1) {
		found = append(found, misfit{
			what:   fmt.Sprintf("flavor %s lacks the labels that its node selector or affinity asks for", m[1]),
			remedy: "ask for labels that a flavor has",
		})
	}
	for _, m := range untolerated.FindAllStringSubmatch(message, -1) {
		taint := strings.TrimSuffix(m[1]+"="+m[2], "=") + ":" + m[3]
		found = append(found, misfit{
			what:   fmt.Sprintf("flavor %s has the taint %s, which its pods do not tolerate", m[4], taint),
			remedy: fmt.Sprintf("have the pods tolerate the taint %s of flavor %s", taint, m[4]),
		})
	}
	for _, m := range noSuchKind.FindAllStringSubmatch(message, -1) {
		found = append(found, misfit{what: fmt.Sprintf("no flavor of its ClusterQueue has any %s", m[1]), remedy: fmt.Sprintf("add %s to a flavor of the ClusterQueue", m[1])})
	}
	for _, m := range noFlavor.FindAllStringSubmatch(message, -1) {
		found = append(found, misfit{what: fmt.Sprintf("there is no flavor %s", m[1]), remedy: fmt.Sprintf("create ResourceFlavor %s", m[1])})
	}
	for _, m := range noTopology.FindAllStringSubmatch(message, -1) {
		found = append(found, misfit{what: fmt.Sprintf("flavor %s has no topology, which its pods ask for", m[1]), remedy: fmt.Sprintf("give ResourceFlavor %s a topology", m[1])})
	}
	for _, m := range noPlaceNear.FindAllStringSubmatch(message, -1) {
		found = append(found, misfit{
			what:   fmt.Sprintf("topology %s has room for %s of its %s pods as near to each other as they ask for", m[1], cmp.Or(m[2], "none"), cmp.Or(m[3], m[4])),
			remedy: fmt.Sprintf("add nodes to a domain of topology %s, or ask for a wider one", m[1]),
		})
	}
	return found
}

// misfitsOn are the misfits of all workers, each once.
func misfitsOn(offers []offer) []misfit {
	var found []misfit
	for _, o := range offers {
		if _, c := holdOf(o.copied); c != nil {
			for _, r := range misfitsIn(c.Message) {
				if !slices.Contains(found, r) {
					found = append(found, r)
				}
			}
		}
	}
	return found
}

func texts(misfits []misfit) string {
	all := make([]string, len(misfits))
	for i, r := range misfits {
		all[i] = r.what
	}
	return strings.Join(all, "; ")
}

// neverFits says why no worker can ever hold a submission, and what helps.
func neverFits(s *Sighting, w waiter) {
	misfits := misfitsOn(w.offers)
	if len(misfits) == 0 {
		s.Message = "it asks for more than any worker's quota can ever hold"
		return
	}
	s.Message = "no worker can ever hold it: " + texts(misfits)
	if !slices.ContainsFunc(misfits, func(r misfit) bool { return r.isQuota }) {
		s.Message = "no flavor of any worker suits its pods, which has nothing to do with quota: " + texts(misfits)
	}
	steps := remediesOf(misfits)
	switch {
	case len(steps) == 0:
	case slices.ContainsFunc(misfits, func(r misfit) bool { return r.isQuota }):
		s.Remedy = command.Say("%s, or %s", strings.Join(steps, ", or "), s.Remedy)
	default:
		s.Remedy = command.Say("%s: %s", strings.Join(steps, ", or "), startAgain(w.Job()))
	}
}

// remediesOf are the remedies of misfits that have one, each once.
func remediesOf(misfits []misfit) []string {
	var steps []string
	for _, r := range misfits {
		if r.remedy != "" && !slices.Contains(steps, r.remedy) {
			steps = append(steps, r.remedy)
		}
	}
	return steps
}

// noPlace tells of pods that have no place near enough to each other, which no end of
// another Job changes. s has what helps otherwise, if anything does.
func noPlace(s *Sighting, misfits []misfit, where string) {
	s.Severity = inspect.Warning
	s.Message = "no topology on " + where + " has a place for it, until nodes change"
	if len(misfits) == 0 {
		s.Remedy = command.Say("add nodes, or have it ask for a wider topology: %s", startAgain(s.Jobs[0]))
		return
	}
	s.Message += ": " + texts(misfits)
	s.Remedy = command.Say("%s; to have it ask for something else, %s", strings.Join(remediesOf(misfits), ", or "), startAgain(s.Jobs[0]))
}

// reserved are the Workloads that have quota on a cluster, by their ClusterQueues. It is
// found out once for all that wait: there may be thousands of both.
type reserved map[*inspect.Facts]map[string][]*kueue.Workload

func (r reserved) in(v *View, f *inspect.Facts, queue string) []*kueue.Workload {
	if r[f] == nil {
		r[f] = map[string][]*kueue.Workload{}
		workloads, _ := v.Workloads(f)
		for _, w := range workloads {
			if w.Status.Admission != nil && meta.IsStatusConditionTrue(w.Status.Conditions, kueue.QuotaReserved) && !meta.IsStatusConditionTrue(w.Status.Conditions, kueue.Finished) {
				r[f][w.Status.Admission.ClusterQueue] = append(r[f][w.Status.Admission.ClusterQueue], w)
			}
		}
	}
	return r[f][queue]
}

// holders are the Jobs that have quota in the ClusterQueues which a submission waits for
// on the workers, as "default/a on kwok-w1".
func (v *View) holders(w waiter, all reserved) []string {
	var found []string
	for _, o := range w.offers {
		queue := ""
		if local, _ := v.LocalQueue(o.worker, o.copied.Namespace, o.copied.Spec.QueueName); local != nil {
			queue = local.Spec.ClusterQueue
		}
		for _, other := range all.in(v, o.worker, queue) {
			if other != o.copied {
				found = append(found, fmt.Sprintf("%s on %s", v.madeForName(o.worker, other), o.worker.Context))
			}
		}
	}
	return found
}

// madeForName is what a Workload was made for, as "Job default/a"; or the Workload, if
// that does not tell.
func (v *View) madeForName(f *inspect.Facts, w *kueue.Workload) string {
	for _, owner := range w.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			return fmt.Sprintf("%s %s/%s", owner.Kind, w.Namespace, owner.Name)
		}
	}
	return named(workloadObject(f, w))
}

// enoughHolders are as many as are named.
func enoughHolders(holders []string) string {
	if len(holders) > few {
		return fmt.Sprintf("%s and %d others", strings.Join(holders[:few], ", "), len(holders)-few)
	}
	return strings.Join(holders, ", ")
}

// waitsForRoomThere tells of a submission for which there is no room so far.
func (v *View) waitsForRoomThere(s *Sighting, w waiter, all reserved) {
	j := w.Job()
	queue := w.Workload.Spec.QueueName
	s.Severity = inspect.Info
	needs := ""
	if misfits := misfitsOn(w.offers); len(misfits) > 0 {
		needs = ": " + texts(misfits)
	}
	holders := v.holders(w, all)
	if len(holders) > 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s of LocalQueue %s/%s: the room is held by %s", named(Of(j)), j.Namespace, queue, enoughHolders(holders)))
	}
	if p, ok := v.preempted(w.Submission); ok {
		s.Message = fmt.Sprintf("%s; it waits for room again%s", p.text, needs)
		s.Evidence = append(s.Evidence, p.evidence)
		return
	}
	// However many wait there: one finding.
	s.Object = OfKueue(w.Manager, "LocalQueue", j.Namespace, queue)
	s.Cause = w.Manager.Context + " " + named(s.Object) + " " + j.Kind
	s.Message = fmt.Sprintf("%s of LocalQueue %s/%s wait for room on the workers, none of which has any so far; %s/%s%s", plural(j), j.Namespace, queue, j.Namespace, j.Name, needs)
	if needs == "" {
		s.Message = fmt.Sprintf("%s of LocalQueue %s/%s wait for room on the workers, none of which has any so far", plural(j), j.Namespace, queue)
	}
}
