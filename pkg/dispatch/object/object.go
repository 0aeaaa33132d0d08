// Package object reads facts from an object of a delegated kind: its owner, its state, its end,
// the labels that its cluster generates, and whether it is malformed.
//
// It is based on package delegation, which knows kinds and states but no objects. It is pure: it
// knows neither servers nor mirrors.
package object

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// NameOf returns namespace/name. A name to generate ends with "*".
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

// KindAndName returns the kind and the name for the middle of a sentence: job namespace/name.
func KindAndName(job *unstructured.Unstructured) string {
	return delegation.Mentioned(job.GetKind(), "", NameOf(job))
}

// Malformed returns an error if an object is too malformed to be used. A server does not store
// such an object, but a file may contain one.
func Malformed(k delegation.Kind, job *unstructured.Unstructured) error {
	// The parent of managedBy has to be an object, too.
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

// OwnerOf returns the owner that an object's managedBy names.
func OwnerOf(k delegation.Kind, o *unstructured.Unstructured) delegation.Owner {
	return k.OwnerOf(content.StringAt(o, k.ManagedBy...))
}

// OrJob returns the kind, or Job if it is zero.
func OrJob(k delegation.Kind) delegation.Kind {
	if k.Kind == "" {
		return delegation.Job()
	}
	return k
}

// OurDomain is the domain of all our labels and annotations.
const OurDomain = "jobmanagedby.github.io"

// GeneratedLabels returns the labels by which a Job finds its Pods. The API server adds them to
// the Pod template, with the Job's UID and name (kubernetes: pkg/registry/batch/job/strategy.go,
// generateSelector).
func GeneratedLabels() []string {
	return []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"}
}

// IsGenerated reports whether a label is one of GeneratedLabels.
func IsGenerated(key string) bool { return slices.Contains(GeneratedLabels(), key) }

// InDomain reports whether a label or annotation belongs to a domain or a subdomain of it.
func InDomain(key, domain string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}
