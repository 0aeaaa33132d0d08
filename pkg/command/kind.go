package command

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// KindName is what kubectl is told to name a kind by. Where a plural is that of
// several groups, kubectl takes any of them.
func KindName(k delegation.Kind) string {
	if k.IsJob() {
		return k.Name
	}
	return k.Resource.GroupResource().String()
}

// KindNameOf is the same of an object of any kind.
func KindNameOf(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	if k, ok := delegation.KindOf(gvk); ok {
		return KindName(k)
	}
	return strings.ToLower(gvk.GroupKind().String())
}

// Explained is what kubectl explain takes for a kind, to be followed by a field.
func Explained(k delegation.Kind) string {
	if k.IsJob() {
		return k.Name
	}
	return k.Resource.Resource
}

// Argument is an object of a kind as our own commands take it: [KIND/]NAME.
func Argument(k delegation.Kind, name string) string {
	if k.IsJob() {
		return name
	}
	if named, ok := delegation.KindNamed(k.Name); !ok || named.Resource.Group != k.Resource.Group {
		return k.String() + "/" + name
	}
	return k.Name + "/" + name
}
