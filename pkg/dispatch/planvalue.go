package dispatch

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// nameOf is how people are told of a Job: namespace/name.
func nameOf(job *unstructured.Unstructured) string {
	name := job.GetName()
	if name == "" && job.GetGenerateName() != "" {
		name = job.GetGenerateName() + "*"
	}
	if job.GetNamespace() == "" {
		return name
	}
	return job.GetNamespace() + "/" + name
}

// malformed says what keeps a plan from being made at all. A server takes no such
// object, but a file may have one.
func malformed(k delegation.Kind, job *unstructured.Unstructured) error {
	// managedBy stands in an object, too.
	objects := [][]string{{"spec"}, k.ManagedBy[:len(k.ManagedBy)-1]}
	keyed := [][]string{{"metadata", "labels"}, {"metadata", "annotations"}}
	if k.IsJob() {
		objects = append(objects, []string{"spec", "template"}, []string{"spec", "template", "spec"})
		keyed = append(keyed, []string{"spec", "template", "metadata", "labels"}, []string{"spec", "template", "metadata", "annotations"})
	}
	for _, path := range objects {
		value := content.At(job, path...)
		if _, isMap := value.(map[string]any); !isMap && (value != nil || len(path) == 1 || k.IsJob()) {
			return fmt.Errorf("%s is missing, or not an object", content.Dotted(path))
		}
	}
	for _, path := range keyed {
		if _, _, err := unstructured.NestedNullCoercingStringMap(job.Object, path...); err != nil {
			return err
		}
	}
	managedBy := content.At(job, k.ManagedBy...)
	if _, isString := managedBy.(string); managedBy != nil && !isString {
		return fmt.Errorf("%s is %v, not a string", content.Dotted(k.ManagedBy), managedBy)
	}
	return nil
}
