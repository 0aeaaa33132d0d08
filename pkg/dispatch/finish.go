package dispatch

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// finish ends the task after the end of the Job was stored on the origin, by us
// or by somebody else: whoever runs cancel. The mirror is looked at as it is now,
// because it may be deleted.
func (t *task) finish(ctx context.Context, origin *batchv1.Job, how *batchv1.JobCondition) error {
	if t.mirrorRef.UID == "" {
		t.mirrorRef.UID = pinned(t.originNow).UID
	}
	mirror, err := t.worker.get(ctx, t.mirrorRef)
	if err != nil {
		return err
	}
	if mirror != nil && string(mirror.GetUID()) == t.mirrorRef.UID {
		if !HasFinished(mirror) {
			err = t.removeMirror(ctx, ", because its origin was ended from outside")
		} else {
			err = t.retire(ctx, mirror)
		}
		if err != nil && (mayPass(err) || isConflict(err)) {
			return err
		}
		if err != nil {
			t.record(Warned, fmt.Sprintf("its mirror on %s stays until somebody deletes it: %v", t.worker.Context, err))
		}
	}
	t.endAs(origin, how)
	return nil
}

// endAs ends the task as the origin has ended.
func (t *task) endAs(origin *batchv1.Job, how *batchv1.JobCondition) {
	end, message := Completed, "it is complete"
	if how.Type == batchv1.JobFailed {
		end, message = JobFailed, "it failed"
		if how.Reason == CancelReason {
			end, message = Cancelled, "it was cancelled"
		}
		if how.Reason != "" {
			message = fmt.Sprintf("%s (%s): %s", message, how.Reason, how.Message)
		}
	}
	t.end(end, origin, nil, message)
}

// retire has a finished mirror deleted, now or after a while.
func (t *task) retire(ctx context.Context, mirror *unstructured.Unstructured) error {
	ttl := t.options.MirrorTTL
	switch {
	case ttl < 0 || mirror.GetDeletionTimestamp() != nil:
		return nil
	case ttl == 0:
		return t.removeMirror(ctx, "")
	case HasTTL(mirror):
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

// HasFinished says whether a Job is complete or has failed.
func HasFinished(job *unstructured.Unstructured) bool {
	typed, err := typedJob(job)
	return err == nil && finished(&typed.Status) != nil
}
