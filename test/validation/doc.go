// Package validation compares the projection of a Job's status with Kubernetes' own validation:
// what [projection.Project] makes of any mirror is written to an origin through the API server's
// own strategy, and must be accepted.
//
// It is a module of its own, so that the plugin never depends on k8s.io/kubernetes. The mirrors
// come from a small model of the Job controller, from random fields that no controller ever wrote,
// and from the recordings. A naive copier, which writes a mirror's status unchanged, goes through
// the same and must violate each of the rules. Otherwise the test would prove nothing.
//
// [projection.Project]: https://pkg.go.dev/github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection#Project
package validation
