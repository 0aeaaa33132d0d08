// Package podtemplate finds what pods are made from, anywhere in objects of any kind, and
// the objects that others wrap. It knows the shape of a pod template, and nothing of what
// is done with one.
package podtemplate

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// Template is what pods are made from, somewhere in an object.
type Template struct {
	// Path is where it stands: "spec.template".
	Path string
	// Object has the metadata, if it has any, and the spec.
	Object map[string]any
}

// Pod is the spec of the pods.
func (p Template) Pod() map[string]any {
	spec, _ := p.Object["spec"].(map[string]any)
	return spec
}

// IsWhole says whether pods can be made from it as it is. What only overrides parts
// of another template need not name an image.
func (p Template) IsWhole() bool {
	return !slices.ContainsFunc(content.Objects(p.Pod()["containers"]), func(c map[string]any) bool {
		image, _ := c["image"].(string)
		return image == ""
	})
}

// Of finds all pod templates of an object. Where a Job has its only one is
// known. Other kinds have them by lists, by the names of replicas, or within whole
// objects that they wrap; all of them have a spec with a list of containers, which
// have names.
func Of(k delegation.Kind, o *unstructured.Unstructured) []Template {
	if k.IsJob() {
		return []Template{{"spec.template", content.MapAt(o, "spec", "template")}}
	}
	var found []Template
	content.Walk("spec", o.Object["spec"], func(path string, object map[string]any) {
		if hasContainers(object) && (!isObject(object) || object["kind"] == "Pod") {
			found = append(found, Template{path, object})
		}
	})
	return found
}

func hasContainers(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	return len(containers) > 0 && len(content.Objects(containers)) == len(containers) &&
		!slices.ContainsFunc(content.Objects(containers), func(c map[string]any) bool {
			name, _ := c["name"].(string)
			return name == ""
		})
}

// isObject says whether a value is an object of its own, as a server could have it.
func isObject(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	_, hasMetadata := object["metadata"].(map[string]any)
	return apiVersion != "" && kind != "" && hasMetadata
}

// WrappedIn finds the objects that an object holds as a whole, and which its
// controller makes, as "Kind name".
func WrappedIn(o *unstructured.Unstructured) (names map[string]bool, namespaces []string) {
	names = map[string]bool{}
	content.Walk("spec", o.Object["spec"], func(path string, object map[string]any) {
		if !isObject(object) {
			return
		}
		inner := &unstructured.Unstructured{Object: object}
		names[inner.GetKind()+" "+inner.GetName()] = true
		if inner.GetNamespace() != "" {
			namespaces = append(namespaces, path+".metadata.namespace="+inner.GetNamespace())
		}
	})
	return names, namespaces
}
