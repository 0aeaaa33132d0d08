package object

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

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
