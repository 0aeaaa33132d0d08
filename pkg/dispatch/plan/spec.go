package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
)

// metadata removes the fields that only servers write. A server refuses a resourceVersion in a
// create request.
func (p *planner) metadata() {
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"selfLink", "managedFields",
	} {
		p.take("metadata", field)
	}
	p.take("status")
	p.take("metadata", "ownerReferences")
	if len(p.origin.GetOwnerReferences()) > 0 {
		var owners []string
		for _, o := range p.origin.GetOwnerReferences() {
			owners = append(owners, o.Kind+"/"+o.Name)
		}
		// kueue: pkg/controller/admissionchecks/multikueue/externalframeworks/adapter.go
		p.changed(Removed, "metadata.ownerReferences", strings.Join(owners, ", "),
			"not on the worker, whose garbage collector would delete the mirror")
	}
	p.take("metadata", "finalizers")
	if len(p.origin.GetFinalizers()) > 0 {
		p.changed(Removed, "metadata.finalizers", strings.Join(p.origin.GetFinalizers(), ", "), "no controller on the worker removes them")
	}
	if prefix := p.take("metadata", "generateName"); prefix != nil && prefix != "" {
		p.changed(Removed, "metadata.generateName", prefix, "the mirror has the origin's name")
	}
	if to := p.options.Namespace; to != "" && to != p.origin.GetNamespace() {
		p.Mirror.SetNamespace(to)
		p.changed(Set, "metadata.namespace", to, requested)
		p.warnOfReferences()
	}
}

// warnOfReferences warns about references that mean another object in another namespace.
func (p *planner) warnOfReferences() {
	wrapped, namespaces := podtemplate.WrappedIn(p.origin)
	references := map[podtemplate.Ref]bool{}
	for _, t := range podtemplate.Of(p.options.Kind, p.origin) {
		maps.Copy(references, refsIn(t.Pod()))
	}
	maps.DeleteFunc(references, func(r podtemplate.Ref, _ bool) bool { return wrapped[r] })
	if p.options.Kind.IsJob() {
		maps.Copy(references, refsIn(content.MapAt(p.origin, "spec", "scheduling")))
	}
	if len(references) > 0 {
		var names []string
		for r := range references {
			names = append(names, r.String())
		}
		slices.Sort(names)
		p.warn("In namespace %s the Pod template names other objects than in %s: %s.",
			p.options.Namespace, p.origin.GetNamespace(), strings.Join(names, ", "))
	}
	if len(namespaces) > 0 {
		p.warn("Wrapped objects have their own namespace, and keep it in namespace %s: %s.", p.options.Namespace, strings.Join(namespaces, ", "))
	}
}

func (p *planner) spec() {
	kind := p.options.Kind
	reason := fmt.Sprintf("the worker's %s controller runs it", kind.Kind)
	if kind.Defaulted {
		reason += "; the API server there sets the field to " + kind.Reserved
	}
	p.changed(Removed, content.Dotted(kind.ManagedBy), p.take(kind.ManagedBy...), reason)
	if isHeld := object.StateOf(kind, p.origin).Suspend; isHeld {
		for _, path := range object.Holds(kind) {
			if value := content.At(p.origin, path...); value != nil {
				p.changed(Kept, content.Dotted(path), value, "the mirror waits as long as the origin does")
			}
		}
	}
	// karmada: issue 2197: the worker deleted the mirror, which was recreated again and again. If
	// the TTL belongs to objects that this object creates, it is kept: it changes what runs.
	if ttl := content.At(p.origin, kind.TTL()...); ttl != nil && !kind.OtherTTL {
		p.take(kind.TTL()...)
		p.changed(Removed, content.Dotted(kind.TTL()), ttl,
			"the worker could delete the mirror before its last status is copied; it is set after that")
	}
	for _, key := range podtemplate.RemoveKueueKeys(kind, p.Mirror) {
		p.changed(Removed, key.Field, key.Value, "Kueue set it when it started the origin; on the worker it has another meaning")
	}
	if kind.IsJob() {
		p.jobSelector()
		p.jobTemplate()
		return
	}
	for _, path := range kind.LocalFields {
		if value := p.take(path...); value != nil {
			p.changed(Removed, content.Dotted(path), value, "belongs to the origin only")
		}
	}
	p.warnOfOwners()
}

// warnOfOwners warns about objects that the mirror's controller creates for another controller.
// It is unknown whether that controller exists on the worker.
func (p *planner) warnOfOwners() {
	content.Walk("spec", p.Mirror.Object["spec"], func(path string, object map[string]any) {
		owner, _ := object["managedBy"].(string)
		isReserved := func(k delegation.Kind) bool { return k.OwnerOf(owner).IsBuiltIn() }
		if !slices.ContainsFunc(delegation.Kinds(), isReserved) {
			p.warn("%s.managedBy is %s: on the worker, its objects run only if that controller exists.", path, owner)
		}
	})
}

// jobSelector removes the selector that the origin's API server has generated.
func (p *planner) jobSelector() {
	if content.IsTrueAt(p.origin, "spec", "manualSelector") {
		p.changed(Kept, "spec.selector", selectorText(content.At(p.origin, "spec", "selector")), "spec.manualSelector is true")
		p.warn("The Job selects its Pods itself (spec.manualSelector): on the worker, it adopts other Pods that match %s.",
			selectorText(content.At(p.origin, "spec", "selector")))
	} else if selector := p.take("spec", "selector"); selector != nil {
		p.changed(Removed, "spec.selector", selectorText(selector), "the worker creates one with the mirror's UID")
	}
}

func selectorText(value any) string {
	selector := labelSelector(value)
	if selector == nil {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}

// jobTemplate removes the origin's data from the Pod template of a Job.
func (p *planner) jobTemplate() {
	path := []string{"spec", "template", "metadata"}
	if content.At(p.Mirror, append(path, "creationTimestamp")...) == nil {
		// Servers before Kubernetes 1.34 write null here.
		unstructured.RemoveNestedField(p.Mirror.Object, append(path, "creationTimestamp")...)
	}
	if !content.IsTrueAt(p.origin, "spec", "manualSelector") {
		p.takeGenerated(append(path, "labels")...)
	}
}

// warnOfQueues warns about Pods that are in a queue themselves.
func (p *planner) warnOfQueues() {
	for _, field := range []string{"labels", "annotations"} {
		found := map[string]bool{}
		for _, t := range podtemplate.Of(p.options.Kind, p.Mirror) {
			values, _ := content.In(t.Object, "metadata", field).(map[string]any)
			for key := range values {
				found[key] = object.InDomain(key, "kueue.x-k8s.io")
			}
		}
		maps.DeleteFunc(found, func(_ string, isKueues bool) bool { return !isKueues })
		if len(found) > 0 {
			p.warn("The Pods have %s of Kueue (%s): Kueue on the worker may hold them back.", field, strings.Join(slices.Sorted(maps.Keys(found)), ", "))
		}
	}
}

// takeGenerated removes the labels that a server adds to the Pod template. A server refuses a Job
// whose template has these labels with another UID. It adds all of them again.
func (p *planner) takeGenerated(path ...string) {
	var found []string
	for _, key := range slices.Sorted(slices.Values(object.GeneratedLabels())) {
		if p.take(append(slices.Clone(path), key)...) != nil {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return
	}
	p.changed(Removed, content.Dotted(path), strings.Join(found, ", "), "the worker sets them again, with the mirror's UID")
	for ; len(path) > 2 && len(content.MapAt(p.Mirror, path...)) == 0; path = path[:len(path)-1] {
		p.take(path...)
	}
}

// warnOfSelectors warns about rules that place Pods relative to others, and whose meaning depends
// on the UID of the Job or on the Pods of the worker. A label in matchLabelKeys is not a problem:
// each Pod uses its own value, which is right in any cluster.
func (p *planner) warnOfSelectors() {
	for _, s := range selectorsOf(content.MapAt(p.origin, "spec", "template", "spec")) {
		for _, key := range object.GeneratedLabels() {
			for _, value := range valuesFor(s.selector, key) {
				isUID := strings.HasSuffix(key, "controller-uid")
				switch {
				case isUID && value == string(p.origin.GetUID()):
					p.warn("%s selects the Pods of the origin by its UID (%s): on the worker, no Pod has that.", s.path, key)
				case isUID:
					p.warn("%s selects the Pods of the Job with UID %s (%s): on the worker, no Pod has that.", s.path, value, key)
				case value != p.origin.GetName():
					p.warn("%s selects the Pods of the Job %s (%s): on the worker, there may be none.", s.path, value, key)
				}
			}
		}
	}
}

// valuesFor returns the values that a selector has for a label.
func valuesFor(s *metav1.LabelSelector, key string) []string {
	var values []string
	if value, named := s.MatchLabels[key]; named {
		values = append(values, value)
	}
	for _, e := range s.MatchExpressions {
		if e.Key == key {
			values = append(values, e.Values...)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// placement is a selector in a rule that places Pods.
type placement struct {
	path     string
	selector *metav1.LabelSelector
}

// selectorsOf returns all such selectors of a Pod spec.
func selectorsOf(pod map[string]any) []placement {
	var all []placement
	add := func(path string, term any) {
		fields, _ := term.(map[string]any)
		if s := labelSelector(fields["labelSelector"]); s != nil {
			all = append(all, placement{"spec.template.spec." + path, s})
		}
	}
	eachOf(pod, "topologySpreadConstraints", func(i int, c any) { add(fmt.Sprintf("topologySpreadConstraints[%d]", i), c) })
	for _, kind := range []string{"podAffinity", "podAntiAffinity"} {
		rules, _ := content.In(pod, "affinity", kind).(map[string]any)
		eachOf(rules, "requiredDuringSchedulingIgnoredDuringExecution", func(i int, term any) {
			add(fmt.Sprintf("affinity.%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", kind, i), term)
		})
		eachOf(rules, "preferredDuringSchedulingIgnoredDuringExecution", func(i int, term any) {
			fields, _ := term.(map[string]any)
			add(fmt.Sprintf("affinity.%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", kind, i), fields["podAffinityTerm"])
		})
	}
	return all
}

func eachOf(fields map[string]any, field string, do func(i int, element any)) {
	list, _ := fields[field].([]any)
	for i, element := range list {
		do(i, element)
	}
}
