package validation

import (
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install" // The kinds of the group.
	internal "k8s.io/kubernetes/pkg/apis/batch/v1"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // The kinds in a Job's template.
	strategy "k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/utils/ptr"
)

// server is the API server of an origin.
type server struct {
	// minor is its minor version; 0 is the compiled one.
	minor int
	// rigid is a server without kubernetes PR 134769, of an early patch release: it refuses changes
	// of startTime while a Job is not suspended.
	rigid bool
}

// object is a Job as an API server stores it.
type object struct {
	server server
	// job is the object that a client reads.
	job      *batchv1.Job
	internal *batch.Job
}

// create creates a Job like an API server: with defaults, and only if it is valid.
func create(t *testing.T, on server, job *batchv1.Job) *object {
	t.Helper()
	o := &object{server: on, job: job.DeepCopy()}
	legacyscheme.Scheme.Default(o.job)
	o.internal = convert(t, o.job)
	strategy.Strategy.PrepareForCreate(t.Context(), o.internal)
	errs := strategy.Strategy.Validate(t.Context(), o.internal)
	assert.NilError(t, errs.ToAggregate(), "the generated Job is not valid")
	assert.NilError(t, legacyscheme.Scheme.Convert(o.internal.DeepCopy(), o.job, nil))
	return o
}

func convert(t *testing.T, job *batchv1.Job) *batch.Job {
	t.Helper()
	var converted batch.Job
	assert.NilError(t, legacyscheme.Scheme.Convert(job.DeepCopy(), &converted, nil))
	return &converted
}

// update changes a Job's spec as a user does. An invalid change fails the test.
func (o *object) update(t *testing.T, change func(*batchv1.JobSpec)) {
	t.Helper()
	job := o.job.DeepCopy()
	change(&job.Spec)
	updated := convert(t, job)
	strategy.Strategy.PrepareForUpdate(t.Context(), updated, o.internal)
	errs := strategy.Strategy.ValidateUpdate(t.Context(), updated, o.internal)
	assert.NilError(t, errs.ToAggregate(), "the generated update is not valid")
	assert.NilError(t, legacyscheme.Scheme.Convert(updated.DeepCopy(), job, nil))
	o.job, o.internal = job, updated
}

// store stores a status without validation, as servers before the rules did.
func (o *object) store(t *testing.T, status *batchv1.JobStatus) {
	t.Helper()
	o.job, o.internal = o.job.DeepCopy(), o.internal.DeepCopy()
	o.job.Status = *roundTrip(t, status)
	assert.NilError(t, internal.Convert_v1_JobStatus_To_batch_JobStatus(o.job.Status.DeepCopy(), &o.internal.Status, nil))
}

// put writes a status like PUT /status, over JSON, and stores it if it is accepted.
func (o *object) put(t *testing.T, status *batchv1.JobStatus) field.ErrorList {
	t.Helper()
	wire := roundTrip(t, status)
	next := o.internal.DeepCopy()
	assert.NilError(t, internal.Convert_v1_JobStatus_To_batch_JobStatus(wire.DeepCopy(), &next.Status, nil))
	ctx := statusRequest(t.Context())
	strategy.StatusStrategy.PrepareForUpdate(ctx, next, o.internal)
	errs := strategy.StatusStrategy.ValidateUpdate(ctx, next, o.internal)
	// The rules that the types have as tags, which an API server of 1.37 or later checks for every
	// write to any part of a Job.
	config := strategy.StatusStrategy.DeclarativeValidationConfig(ctx, next, o.internal)
	errs = strategy.StatusStrategy.ValidateDeclaratively(ctx, next, o.internal, errs, operation.Update, config)
	if o.server != (server{}) {
		errs = o.server.older(errs, next, o.internal)
	}
	if len(errs) == 0 {
		o.job = o.job.DeepCopy()
		o.job.Status, o.internal = *wire, next
	}
	return errs
}

// statusRequest returns the context of a write to the status of a Job.
func statusRequest(ctx context.Context) context.Context {
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: batchv1.GroupName, APIVersion: "v1", Resource: "jobs", Subresource: "status",
	})
}

// older converts the errors of the current server to those of an older one, with the known
// differences.
func (s server) older(errs field.ErrorList, next, stored *batch.Job) field.ErrorList {
	if s.minor != 0 && s.minor < 31 {
		// A Complete Job needed SuccessCriteriaMet from 1.31 on.
		errs = errs.Filter(func(err error) bool { return numberOf(err) == 10 })
		errs = append(errs, rulesBefore137(next, stored)...)
	}
	startChanged := !ptr.Equal(stored.Status.StartTime, next.Status.StartTime)
	endChanged := batchvalidation.IsJobFinished(stored) != batchvalidation.IsJobFinished(next)
	return append(errs, batchvalidation.ValidateJobUpdateStatus(next, stored, batchvalidation.JobStatusValidationOptions{
		RejectStartTimeUpdateForUnsuspendedJob: startChanged && (s.rigid || s.minor != 0 && s.minor < 32),
		RejectFinishedJobWithoutStartTime:      (startChanged || endChanged) && s.minor != 0 && s.minor < 34,
	})...)
}

// rulesBefore137 checks rules 24 and 25, which 1.37 does not have any more: before 1.31,
// SuccessCriteriaMet was for Indexed Jobs with a success policy, unless it was set already.
func rulesBefore137(next, stored *batch.Job) (errs field.ErrorList) {
	isMet := func(job *batch.Job) bool {
		return batchvalidation.IsConditionTrue(job.Status.Conditions, batch.JobSuccessCriteriaMet)
	}
	if !isMet(next) || isMet(stored) {
		return nil
	}
	path := field.NewPath("status", "conditions")
	if ptr.Deref(next.Spec.CompletionMode, batch.NonIndexedCompletion) != batch.IndexedCompletion {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "cannot set SuccessCriteriaMet to NonIndexed Job"))
	}
	if next.Spec.SuccessPolicy == nil {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy"))
	}
	return errs
}

// roundTrip returns a status as it is read back after it was written.
func roundTrip(t *testing.T, status *batchv1.JobStatus) *batchv1.JobStatus {
	t.Helper()
	data, err := json.Marshal(status)
	assert.NilError(t, err)
	var read batchv1.JobStatus
	assert.NilError(t, json.Unmarshal(data, &read))
	return &read
}
