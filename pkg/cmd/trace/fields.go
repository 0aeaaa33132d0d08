package trace

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// warnOfFields prints the fields of an object of a built-in kind that do not exist, which are probably typos. An API
// server that took the object in a dry run has sent these warnings itself.
func (o *traceOptions) warnOfFields(v *inspect.Inventory, m *planned, r *placement.Request) {
	typed, err := scheme.Scheme.New(m.file.GroupVersionKind())
	if err != nil {
		// The kind is not built in: its fields are unknown.
		return
	}
	if slices.ContainsFunc(placement.Entries(v, r), func(at *inspect.Facts) bool { return r.Check(at.Context).As != nil }) {
		return
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m.file.Object, typed, true)
	if unknown, isUnknown := runtime.AsStrictDecodingError(err); isUnknown {
		for _, fault := range unknown.Errors() {
			util.Report(o.ErrOut, "Warning: %s: %v", delegation.Named(m.kind, r.Namespace, m.name), fault)
		}
	}
}

// restartPolicyFault says why API servers refuse the restartPolicy of a batch Job, "" if they do not
// (kubernetes: pkg/apis/batch/validation).
func restartPolicyFault(job *unstructured.Unstructured) string {
	policy, _, _ := unstructured.NestedString(job.Object, "spec", "template", "spec", "restartPolicy")
	switch corev1.RestartPolicy(policy) {
	case corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure:
		return ""
	case "":
		return "the Pod template has no restartPolicy, which must be Never or OnFailure"
	default:
		return fmt.Sprintf("the restartPolicy of the Pod template is %s, and must be Never or OnFailure", policy)
	}
}
