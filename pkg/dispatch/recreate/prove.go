package recreate

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// verify returns an error if the context may reach another cluster than when Check ran: the new Job would be
// created there. A cluster that nothing identifies is believed.
func (r *Runner) verify(ctx context.Context, p *Replacement) error {
	return r.identified(r.Cluster.Verify(ctx, p.stored.GetNamespace()))
}

// proveGone returns nil if the old Job is certainly gone. A cluster that nothing identifies is believed.
func (r *Runner) proveGone(ctx context.Context, p *Replacement) error {
	return r.identified(r.Cluster.ProveGone(ctx, p.kind().Resource, p.stored.GetNamespace(), p.stored.GetName(), string(p.stored.GetUID())))
}

// mayPass reports whether reading the old Job or its cluster is worth a retry: the server did not answer or
// failed, another cluster answered, or the Job exists although it was reported gone.
func mayPass(err error) bool {
	present := (*kubecontext.PresentError)(nil)
	return kubecontext.IsConnection(err) || kubecontext.IsUnclear(err) || errors.As(err, &present)
}

// latest returns the error that says most about tries within a time limit: the last one, unless the limit
// ended it.
func latest(ctx context.Context, earlier, last error) error {
	if ctx.Err() != nil && earlier != nil {
		return earlier
	}
	return last
}

// identified returns the result of a proof, and records whether the context reaches another cluster. A cluster
// that nothing identifies is believed.
func (r *Runner) identified(err error) error {
	if kubecontext.IsUnidentified(err) {
		return nil
	}
	if moved := (*kubecontext.MovedError)(nil); err == nil || errors.As(err, &moved) {
		r.moved = moved
	}
	return err
}

// isOld reports whether an object is the old Job; nil is not.
func (p *Replacement) isOld(live *unstructured.Unstructured) bool {
	return live != nil && live.GetUID() == p.stored.GetUID()
}
