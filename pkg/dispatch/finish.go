package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

// finish ends the task after the end of the Job was stored on the origin, by us
// or by somebody else: whoever runs cancel.
func (t *task) finish(ctx context.Context, origin *batchv1.Job, how *batchv1.JobCondition) error {
	if t.mirrorRef.UID == "" {
		t.mirrorRef.UID = pinned(t.originNow).UID
	}
	mirror, err := t.readMirror(ctx)
	if err != nil {
		return err
	}
	if mirror != nil && string(mirror.GetUID()) == t.mirrorRef.UID {
		typed, err := typedJob(mirror)
		if err != nil {
			return err
		}
		if finished(&typed.Status) == nil {
			return t.cancelled(ctx, origin, how)
		}
		if err := t.retire(ctx, mirror); err != nil {
			return err
		}
	}
	end, message := Completed, "it is complete"
	if how.Type == batchv1.JobFailed {
		end, message = JobFailed, "it failed"
		if how.Reason != "" {
			message = fmt.Sprintf("it failed (%s): %s", how.Reason, how.Message)
		}
	}
	t.end(end, origin, nil, message)
	return nil
}

// cancelled ends the task of an origin that was finished while its mirror was not.
func (t *task) cancelled(ctx context.Context, origin *batchv1.Job, how *batchv1.JobCondition) error {
	if err := t.worker.remove(ctx, t.mirrorRef); err != nil {
		return err
	}
	t.record(MirrorRemoved, "deleted on "+t.worker.Context)
	t.end(Cancelled, origin, nil, fmt.Sprintf("it was ended from outside as %s (%s): %s", how.Type, how.Reason, how.Message))
	return nil
}

// retire has a finished mirror deleted, now or after a while.
func (t *task) retire(ctx context.Context, mirror *unstructured.Unstructured) error {
	ttl := t.options.MirrorTTL
	switch {
	case ttl < 0 || mirror.GetDeletionTimestamp() != nil:
		return nil
	case ttl == 0:
		if err := t.worker.remove(ctx, t.mirrorRef); err != nil {
			return err
		}
		t.record(MirrorRemoved, "deleted on "+t.worker.Context)
		return nil
	}
	if HasTTL(mirror) {
		return nil
	}
	_, err := t.worker.patch(ctx, mirror, "", map[string]any{
		"spec": map[string]any{"ttlSecondsAfterFinished": int64((ttl + time.Second - 1) / time.Second)},
	})
	return err
}

// HasTTL says whether a mirror is deleted by itself after it has finished, which
// dispatch has it be once its end has landed on the origin.
func HasTTL(mirror *unstructured.Unstructured) bool {
	_, ok, _ := unstructured.NestedInt64(mirror.Object, "spec", "ttlSecondsAfterFinished")
	return ok
}

// leave ends a task that is unfinished when the loop ends.
func (t *task) leave(ctx context.Context, end EventType) {
	if !t.options.DeleteOnInterrupt {
		t.leaveLease = true
		message := "nothing was made on " + t.worker.Context + " yet"
		if t.mirrorRef.UID != "" {
			message = fmt.Sprintf("its mirror on %s goes on running, and its status is not copied any more", t.worker.Context)
		}
		t.end(end, nil, nil, message)
		return
	}
	if err := t.takeBack(ctx); err != nil {
		t.leaveLease = true
		t.end(end, nil, nil, fmt.Sprintf("its mirror could not be removed: %v", err))
		return
	}
	t.end(end, nil, nil, "nothing of it is left on "+t.worker.Context)
}

// takeBack removes the mirror and what says that there is one.
func (t *task) takeBack(ctx context.Context) error {
	if t.mirrorRef.UID == "" {
		return nil
	}
	if !t.lease.held.Load() {
		return errors.New("its Lease was lost, and somebody else may dispatch it")
	}
	if err := t.worker.remove(ctx, t.mirrorRef); err != nil {
		return err
	}
	t.record(MirrorRemoved, "deleted on "+t.worker.Context)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := t.origin.get(ctx, t.ref)
		if err != nil || live == nil || live.GetUID() != t.UID {
			return err
		}
		job, err := typedJob(live)
		if err != nil {
			return err
		}
		if finished(&job.Status) == nil {
			stopped := projection.Stop(job)
			status, err := statusMap(&stopped)
			if err != nil {
				return err
			}
			if live, err = t.origin.patch(ctx, live, "status", map[string]any{"status": status}); err != nil {
				return err
			}
		}
		t.originNow, err = t.origin.patch(ctx, live, "", map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{delegation.MirrorAnnotation: nil}},
		})
		return err
	})
}

// HasFinished says whether a Job is complete or has failed.
func HasFinished(job *unstructured.Unstructured) bool {
	typed, err := typedJob(job)
	return err == nil && finished(&typed.Status) != nil
}
