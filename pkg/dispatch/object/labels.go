package object

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
)

// OurDomain is that of all our labels and annotations.
const OurDomain = "jobmanagedby.github.io"

// GeneratedLabels are those by which a Job finds its pods. The API server puts
// them on the pod template, with the Job's own uid and name (kubernetes:
// pkg/registry/batch/job/strategy.go, generateSelector).
func GeneratedLabels() []string {
	return []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"}
}

// IsGenerated says whether a label is one of GeneratedLabels.
func IsGenerated(key string) bool { return slices.Contains(GeneratedLabels(), key) }

// InDomain says whether a label or annotation belongs to a domain or one below it.
func InDomain(key, domain string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == domain || strings.HasSuffix(prefix, "."+domain)
}
