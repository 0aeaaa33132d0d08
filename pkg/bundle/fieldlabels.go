package bundle

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fieldLabels returns the fields that API servers accept in selectors for a resource, besides the
// name and the namespace (kubernetes: pkg/apis/core/v1/conversion.go, pkg/apis/batch/v1/conversion.go).
// It omits fields whose selected value differs from the stored one. Custom resources have none, unless
// their definition names some.
func fieldLabels(r schema.GroupVersionResource) []string {
	switch r {
	case jobs().GroupVersionResource:
		return []string{"status.successful"}
	case pods().GroupVersionResource:
		return []string{
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
			"status.phase", "status.podIP", "status.nominatedNodeName",
		}
	case events().GroupVersionResource:
		return []string{
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
			"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "type",
		}
	case namespaces().GroupVersionResource:
		return []string{"status.phase"}
	case secrets().GroupVersionResource:
		return []string{"type"}
	}
	return nil
}

// checkFields returns the error of an API server for a selector with a field that it does not accept.
func checkFields(r schema.GroupVersionResource, selector fields.Selector) *apierrors.StatusError {
	allowed := append([]string{"metadata.name", "metadata.namespace"}, fieldLabels(r)...)
	for _, requirement := range selector.Requirements() {
		if !slices.Contains(allowed, requirement.Field) {
			return apierrors.NewBadRequest(fmt.Sprintf("field label %q not supported", requirement.Field))
		}
	}
	return nil
}
