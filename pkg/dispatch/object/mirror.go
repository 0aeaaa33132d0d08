package object

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// DescribeMirror describes a mirror by its label, and returns that label. Both are "" if the object has no
// label of a mirror. A copy of a mirror has the label, too.
func DescribeMirror(k delegation.Kind, o *unstructured.Unstructured) (description, label string) {
	labels := content.StringsAt(o, "metadata", "labels")
	if uid := labels[delegation.OriginUIDLabel]; uid != "" {
		return fmt.Sprintf("the mirror of a dispatched %s (UID %s)", k.Kind, uid), delegation.OriginUIDLabel
	}
	if name := labels[delegation.MultiKueueOriginLabel]; name != "" {
		return fmt.Sprintf("a mirror of MultiKueue (origin %s)", name), delegation.MultiKueueOriginLabel
	}
	return "", ""
}
