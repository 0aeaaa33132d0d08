package dispatch

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// podTemplate is what pods are made from, somewhere in an object.
type podTemplate struct {
	// path is where it stands: "spec.template".
	path string
	// object has the metadata, if it has any, and the spec.
	object map[string]any
}

// pod is the spec of the pods.
func (p podTemplate) pod() map[string]any {
	spec, _ := p.object["spec"].(map[string]any)
	return spec
}

// isWhole says whether pods can be made from it as it is. What only overrides parts
// of another template need not name an image.
func (p podTemplate) isWhole() bool {
	return !slices.ContainsFunc(content.Objects(p.pod()["containers"]), func(c map[string]any) bool {
		image, _ := c["image"].(string)
		return image == ""
	})
}

// templatesOf finds all pod templates of an object. Where a Job has its only one is
// known. Other kinds have them by lists, by the names of replicas, or within whole
// objects that they wrap; all of them have a spec with a list of containers, which
// have names.
func templatesOf(k delegation.Kind, o *unstructured.Unstructured) []podTemplate {
	if k.IsJob() {
		return []podTemplate{{"spec.template", content.MapAt(o, "spec", "template")}}
	}
	var found []podTemplate
	content.Walk("spec", o.Object["spec"], func(path string, object map[string]any) {
		if hasContainers(object) && (!isObject(object) || object["kind"] == "Pod") {
			found = append(found, podTemplate{path, object})
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

// wrappedIn finds the objects that an object holds as a whole, and which its
// controller makes, as "Kind name".
func wrappedIn(o *unstructured.Unstructured) (names map[string]bool, namespaces []string) {
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
