// Package validation holds the projection of a Job's status against Kubernetes'
// own validation: what [projection.Project] makes of any mirror is written to an
// origin through the strategy that the API server has for it, and must be taken.
//
// It is a module of its own, so that the weight of k8s.io/kubernetes never reaches
// the plugin. The mirrors come from a small model of the Job controller, from
// random fields that no controller ever wrote, and from the recordings. A naive
// copier, which writes a mirror's status as it is, goes through the same, and must
// run into each of the rules: else nothing would be shown.
//
// [projection.Project]: https://pkg.go.dev/github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection#Project
package validation
