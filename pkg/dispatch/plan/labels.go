package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
)

// requested is the reason for changes that the user requested.
const requested = "requested by a flag"

// Validate checks the labels that the user requested, for objects of the kind. Without a
// kind, it allows the labels that only some kinds refuse.
func (o Options) Validate() error {
	var all []error
	for _, key := range slices.Sorted(maps.Keys(o.SetLabels)) {
		value := o.SetLabels[key]
		switch problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); {
		case len(problems) > 0:
			all = append(all, fmt.Errorf("label %s=%s cannot be set: %s", key, value, strings.Join(problems, "; ")))
		case key == delegation.MultiKueueOriginLabel:
			all = append(all, fmt.Errorf("label %s cannot be set: MultiKueue would take the mirror as its own and delete it", key))
		case object.InDomain(key, object.OurDomain):
			all = append(all, fmt.Errorf("label %s cannot be set: it is reserved for dispatch", key))
		case o.Kind.IsJob() && object.IsGenerated(key):
			all = append(all, fmt.Errorf("label %s cannot be set: it is reserved for the Job controller", key))
		case slices.Contains(o.StripLabels, key):
			all = append(all, fmt.Errorf("label %s is both set and stripped", key))
		}
	}
	for _, key := range o.StripLabels {
		if object.InDomain(key, object.OurDomain) {
			all = append(all, fmt.Errorf("label %s cannot be stripped: dispatch finds the mirror by it", key))
		}
	}
	return errors.Join(all...)
}

// actingLabel returns the reason for not copying a label that other tools act on; "" for all
// other labels.
func actingLabel(key, value string) string {
	switch {
	case object.InDomain(key, "kueue.x-k8s.io"):
		return "Kueue on the worker would hold the mirror back"
	case object.InDomain(key, "applyset.kubernetes.io"):
		return "kubectl apply --prune on the worker could delete the mirror"
	case key == "app.kubernetes.io/instance":
		return "Argo CD on the worker could take the mirror for its own, and delete it"
	case key == "app.kubernetes.io/managed-by" && value == "Helm":
		return "no Helm release on the worker has it"
	case object.InDomain(key, "toolkit.fluxcd.io"):
		return "Flux on the worker could take the mirror for its own, and delete it"
	case object.InDomain(key, "karmada.io"):
		return "Karmada could take the mirror for its own"
	case object.InDomain(key, "open-cluster-management.io"):
		return "Open Cluster Management could take the mirror for its own"
	case object.InDomain(key, object.OurDomain):
		return "a mark of the origin"
	}
	return ""
}

// actingAnnotation returns the reason for not copying an annotation; "" if it can be copied.
func actingAnnotation(key string) string {
	switch {
	case key == "kubectl.kubernetes.io/last-applied-configuration":
		return "kubectl apply on the worker would set managedBy again"
	case key == "argocd.argoproj.io/tracking-id":
		return "Argo CD on the worker could take the mirror for its own, and delete it"
	case object.InDomain(key, "meta.helm.sh"):
		return "no Helm release on the worker has it"
	case key == batchv1.JobTrackingFinalizer:
		return "unused since Kubernetes 1.27"
	case object.InDomain(key, "kueue.x-k8s.io"):
		return "set by Kueue for the origin"
	case key == "scheduling.k8s.io/group-template-name", key == "scheduling.k8s.io/parent-compositepodgroup":
		// kubernetes: pkg/apis/scheduling/annotation_key_constants.go. They refer to the Workload
		// of the object's controller, which a mirror does not have.
		return "names a group of Pods that is on the origin's cluster"
	case object.InDomain(key, "karmada.io"), object.InDomain(key, "open-cluster-management.io"), object.InDomain(key, object.OurDomain):
		return actingLabel(key, "")
	}
	return ""
}

// labels removes the labels that must not be copied and those that the user strips, and sets
// those that the user requested, and our mark.
func (p *planner) labels() {
	was := content.StringsAt(p.origin, "metadata", "labels")
	var generated []string
	reasons := map[string]string{}
	now := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		// The API server copies the Pod template's labels to a Job that has none (kubernetes:
		// pkg/apis/batch/v1/defaults.go).
		if p.options.Kind.IsJob() && object.IsGenerated(key) {
			generated = append(generated, key)
			continue
		}
		if reasons[key] = actingLabel(key, was[key]); reasons[key] == "" {
			now[key] = was[key]
		}
	}
	for _, key := range p.options.StripLabels {
		if _, there := was[key]; !there {
			p.warn("The label %s cannot be stripped: the %s does not have it. Labels of its Pods stay unchanged.", key, p.options.Kind.Kind)
			continue
		}
		if _, stays := now[key]; stays {
			delete(now, key)
			reasons[key] = requested
		}
	}
	for key, value := range p.options.SetLabels {
		now[key] = value
		if was[key] != value || reasons[key] != "" {
			reasons[key] = requested
		}
	}
	if len(generated) > 0 {
		p.changed(Removed, "metadata.labels", strings.Join(generated, ", "), "set by the Job controller, with the origin's UID")
		for _, key := range generated {
			delete(was, key)
		}
	}
	p.recordChanges("metadata.labels", was, now, reasons)
	if uid := string(p.origin.GetUID()); uid != "" {
		now[delegation.OriginUIDLabel] = uid
		p.changed(Set, content.Keyed("metadata.labels", delegation.OriginUIDLabel), uid, "identifies the origin")
	}
	p.Mirror.SetLabels(orNil(now))
}

func (p *planner) annotations() {
	was := content.StringsAt(p.origin, "metadata", "annotations")
	reasons := map[string]string{}
	now := map[string]string{}
	for key, value := range was {
		if reasons[key] = actingAnnotation(key); reasons[key] == "" {
			now[key] = value
		}
		if key == batchv1.CronJobScheduledTimestampAnnotation || key == "cronjob.kubernetes.io/instantiate" {
			// A CronJob finds its Jobs by their ownerReferences.
			reasons[key] = "information only"
		}
	}
	if namespace := p.origin.GetNamespace(); p.options.OriginCluster.IsUnknown(namespace) {
		p.warn("The cluster of the origin has no readable identity, so the mirror names only the UID of its origin.")
	} else {
		place := p.options.OriginCluster.Place(namespace, p.origin.GetName(), "")
		now[delegation.OriginAnnotation] = place.String()
		reasons[delegation.OriginAnnotation] = "names the place of the origin"
	}
	p.recordChanges("metadata.annotations", was, now, reasons)
	p.Mirror.SetAnnotations(orNil(now))
}

// recordChanges records the differences between labels or annotations, and the reason for those
// that are kept.
func (p *planner) recordChanges(field string, before, now, reasons map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		before, existed := before[key]
		after, stays := now[key]
		switch {
		case !stays:
			p.changed(Removed, content.Keyed(field, key), before, reasons[key])
		case !existed || before != after:
			p.changed(Set, content.Keyed(field, key), after, reasons[key])
		case reasons[key] != "":
			p.changed(Kept, content.Keyed(field, key), after, reasons[key])
		}
	}
}

func orNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
