package command

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// KindName returns the name of a kind for kubectl, for one object or many. If several groups share
// a plural, kubectl would choose any of them without the group.
func KindName(k delegation.Kind) string {
	switch {
	case k.IsJob():
		return k.Name
	case k.Resource.Resource == "":
		// kubectl accepts the kind as well.
		return k.String()
	}
	return k.Resource.GroupResource().String()
}

// KindNameOf returns the name of an object's kind for kubectl.
func KindNameOf(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	if k, ok := delegation.KindOf(gvk); ok {
		return KindName(k)
	}
	return strings.ToLower(gvk.GroupKind().String())
}

// Explained returns the name of a kind for kubectl explain, to be followed by a field.
func Explained(k delegation.Kind) string {
	if k.IsJob() {
		return k.Name
	}
	return k.Resource.Resource
}

// Argument returns an object of a kind as an argument of this plugin: [KIND/]NAME.
func Argument(k delegation.Kind, name string) string {
	if k.IsJob() {
		return name
	}
	if named, ok := delegation.KindNamed(k.Name); !ok || named.Resource.Group != k.Resource.Group {
		return k.String() + "/" + name
	}
	return k.Name + "/" + name
}
