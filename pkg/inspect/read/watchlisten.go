package read

import (
	"context"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// heartbeat is how often at most a cluster is asked for something although nothing
// happens.
const heartbeat = 10 * time.Second

// listen asks the cluster for a single Job now and then, and tells whether it answers.
func (w *watcher) listen() {
	ticker := time.NewTicker(min(heartbeat, w.timeout))
	defer ticker.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-ticker.C:
		}
		ctx, cancel := context.WithTimeoutCause(w.ctx, w.timeout, &kubecontext.TimeoutError{After: w.timeout})
		err := w.query.MayList(ctx, w.cluster)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		cancel()
		if w.ctx.Err() != nil {
			return
		}
		switch failed := kubecontext.InContext(w.cluster.Context, "reach the cluster", err); {
		case err == nil:
			w.recovered("connection")
		case failed.Code() == kubecontext.CodeTimeout, failed.Code() == kubecontext.CodeUnreachable:
			w.report("connection", failed)
		default:
			// It has answered.
			w.recovered("connection")
		}
	}
}
