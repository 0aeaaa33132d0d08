// Package object says what an object of a delegated kind tells of itself, as dispatch
// takes it: its owner, its state, how it has ended, which labels its cluster gives it,
// and what keeps it from making sense at all.
//
// It stands between package delegation, which knows kinds and states but no objects, and
// everything that dispatches. It is pure: it knows no server, and nothing of mirrors.
package object

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// NameOf is how people are told of an object: namespace/name.
func NameOf(job *unstructured.Unstructured) string {
	name := job.GetName()
	if name == "" && job.GetGenerateName() != "" {
		name = job.GetGenerateName() + "*"
	}
	if job.GetNamespace() == "" {
		return name
	}
	return job.GetNamespace() + "/" + name
}

// KindAndName is the same with the kind in front, for the middle of a sentence: job
// namespace/name.
func KindAndName(job *unstructured.Unstructured) string {
	return strings.ToLower(job.GetKind()) + " " + NameOf(job)
}

// Malformed says what keeps anything from being made of an object at all. A server takes
// no such object, but a file may have one.
func Malformed(k delegation.Kind, job *unstructured.Unstructured) error {
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

// OwnerOf is who an object says that it is managed by.
func OwnerOf(k delegation.Kind, o *unstructured.Unstructured) delegation.Owner {
	return k.OwnerOf(content.StringAt(o, k.ManagedBy...))
}

// OrJob is the kind of an object: where none is given, it is Job.
func OrJob(k delegation.Kind) delegation.Kind {
	if k.Kind == "" {
		return delegation.Job()
	}
	return k
}

// TypedJob is a Job without the fields that this build does not know. It is an error if a
// field has a value of another type.
func TypedJob(u *unstructured.Unstructured) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, job); err != nil {
		return nil, fmt.Errorf("job %s/%s is invalid: %w", u.GetNamespace(), u.GetName(), err)
	}
	return job, nil
}
