package dispatch

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
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

// valueAt is what stands at a path, nil where nothing does.
func valueAt(job *unstructured.Unstructured, path ...string) any {
	return valueIn(job.Object, path...)
}

func valueIn(object map[string]any, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil {
		return nil
	}
	return value
}

func mapAt(job *unstructured.Unstructured, path ...string) map[string]any {
	value, _ := valueAt(job, path...).(map[string]any)
	return value
}

func stringAt(job *unstructured.Unstructured, path ...string) string {
	value, _ := valueAt(job, path...).(string)
	return value
}

func isTrueAt(job *unstructured.Unstructured, path ...string) bool {
	value, _ := valueAt(job, path...).(bool)
	return value
}

// stringsAt reads labels and the like; a null is an empty string, as the API
// server takes it.
func stringsAt(job *unstructured.Unstructured, path ...string) map[string]string {
	value, _, err := unstructured.NestedNullCoercingStringMap(job.Object, path...)
	if err != nil {
		return nil
	}
	return value
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
		value := valueAt(job, path...)
		if _, isMap := value.(map[string]any); !isMap && (value != nil || len(path) == 1 || k.IsJob()) {
			return fmt.Errorf("%s is missing, or not an object", dotted(path))
		}
	}
	for _, path := range keyed {
		if _, _, err := unstructured.NestedNullCoercingStringMap(job.Object, path...); err != nil {
			return err
		}
	}
	managedBy := valueAt(job, k.ManagedBy...)
	if _, isString := managedBy.(string); managedBy != nil && !isString {
		return fmt.Errorf("%s is %v, not a string", dotted(k.ManagedBy), managedBy)
	}
	return nil
}

// longest is how long a value may be that people are told.
const longest = 100

// inBrief is a value as people are told it: "" if it is too long.
func inBrief(value any) string {
	text, isString := value.(string)
	if !isString && value != nil {
		text = compact(value)
	}
	if len(text) > longest {
		return ""
	}
	return text
}

// compact is a value as JSON in one line.
func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
