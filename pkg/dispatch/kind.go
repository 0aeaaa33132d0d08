package dispatch

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// kubectlName is what kubectl is told to name a kind by. Where a plural is that of
// several groups, kubectl takes any of them.
func kubectlName(k delegation.Kind) string {
	if k.IsJob() {
		return k.Name
	}
	return k.Resource.GroupResource().String()
}

// kubectlNameOf is the same of an object of any kind.
func kubectlNameOf(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	if k, ok := delegation.KindOf(gvk); ok {
		return kubectlName(k)
	}
	return strings.ToLower(gvk.GroupKind().String())
}

// explained is what kubectl explain takes for a kind, to be followed by a field.
func explained(k delegation.Kind) string {
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

// withArticle puts "a" or "an" in front of a noun.
func withArticle(noun string) string {
	if noun != "" && strings.ContainsRune("aeioAEIO", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
