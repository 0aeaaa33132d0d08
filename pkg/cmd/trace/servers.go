package trace

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	syntax "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// checkServed finds clusters that do not serve the version of an object, which therefore refuse it. API servers
// serve the known versions of built-in kinds.
func (o *traceOptions) checkServed(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) {
	gv := object.GroupVersionKind().GroupVersion()
	kind, isKnown := delegation.KindOf(object.GroupVersionKind())
	known := kind.GroupVersionKind().GroupVersion()
	if !isKnown || isBuiltIn(gv) && gv == known {
		return
	}
	unserved, unread := read.WithoutVersion(ctx, f, gv)
	without := unserved
	if gv != known {
		without, _ = read.WithoutVersion(ctx, f, known)
	}
	for context := range unserved {
		checked := r.Check(context)
		checked.Refused = fmt.Sprintf("it does not serve %s of %s", object.GetKind(), gv)
		if !without.Has(context) {
			checked.RefusedFix = "set apiVersion to " + known.String()
		}
	}
	o.noteUnread(v, unread, func(context string) string {
		return fmt.Sprintf("whether %s serves %s of %s", context, object.GetKind(), gv)
	})
}

func isBuiltIn(gv schema.GroupVersion) bool { return scheme.Scheme.IsGroupRegistered(gv.Group) }

// checkSyntax notes where API servers would refuse the name or the restartPolicy of an object, unless they have shown
// that in a dry run. The names of Jobs are labels of their Pods, too (kubernetes: pkg/apis/batch/validation).
func checkSyntax(v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) {
	field, name := "metadata.name", object.GetName()
	isPrefix := name == ""
	if isPrefix {
		field, name = "metadata.generateName", object.GetGenerateName()
	}
	faults := validation.NameIsDNSSubdomain(name, isPrefix)
	if len(faults) == 0 && !isPrefix && object.GroupVersionKind() == delegation.Job().GroupVersionKind() {
		faults = podFaults(object, name)
	}
	if len(faults) > 0 && name != "" {
		refuse(v, r, fmt.Sprintf("%s %q is invalid: %s", field, name, faults[0]), "change "+field)
	}
	if object.GroupVersionKind() != delegation.Job().GroupVersionKind() {
		return
	}
	if fault := restartPolicyFault(object); fault != "" {
		refuse(v, r, fault, "set restartPolicy of the Pod template to Never")
	}
}

// refuse notes why API servers would refuse an object, unless they have shown whether they do.
func refuse(v *inspect.Inventory, r *placement.Request, why, fix string) {
	for _, at := range placement.Entries(v, r) {
		if checked := r.Check(at.Context); checked.As == nil && checked.Refused == "" {
			checked.Refused, checked.RefusedFix = why, fix
		}
	}
}

// podFaults says why Pods of a batch Job cannot carry its name.
func podFaults(job *unstructured.Unstructured, name string) []string {
	hasOwnLabels, _, _ := unstructured.NestedBool(job.Object, "spec", "manualSelector")
	mode, _, _ := unstructured.NestedString(job.Object, "spec", "completionMode")
	completions, _, _ := unstructured.NestedInt64(job.Object, "spec", "completions")
	var faults []string
	if !hasOwnLabels {
		faults = syntax.IsValidLabelValue(name)
	}
	if mode == string(batchv1.IndexedCompletion) && completions > 0 && len(faults) == 0 {
		// The name and an index are the host name of a Pod.
		faults = syntax.IsDNS1123Label(fmt.Sprintf("%s-%d", name, completions-1))
	}
	return faults
}
