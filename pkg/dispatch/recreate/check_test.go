package recreate_test

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// TestCheck checks that objections to the real run are found without it. A read-only check sends
// neither a deletion nor a Job, and finds what can be read.
func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		isReadOnly bool
		refuses    string
		mayNot     string
		because    string
		want       string
	}{
		"nothing in the way": {},
		"deletion refused":   {refuses: http.MethodDelete, want: "cannot delete the old job"},
		"creation refused":   {refuses: http.MethodPost, want: "cannot create the new job"},
		"quota that the old Job uses up": {
			refuses: http.MethodPost, because: "exceeded quota: team, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1",
		},
		"quota that is too small": {
			refuses: http.MethodPost, because: "exceeded quota: team, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0",
			want: "cannot create the new job",
		},
		"no right to delete":            {mayNot: "delete", want: "you may not delete jobs"},
		"read only, no right to delete": {isReadOnly: true, mayNot: "delete", want: "you may not delete jobs"},
		"read only":                     {isReadOnly: true, refuses: http.MethodDelete},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			old := server.Create(t, delegation.Job().Resource, smallJob(t, edit{"metadata.creationTimestamp", "2026-03-01T09:00:00Z"}))
			server.MayNot = func(attributes *authorizationv1.ResourceAttributes) bool { return attributes.Verb == tt.mayNot }
			writes := 0
			server.Before = func(r *http.Request) *apierrors.StatusError {
				if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "selfsubject") {
					return nil
				}
				writes++
				if r.Method == tt.refuses {
					return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "small", errors.New(cmp.Or(tt.because, "no")))
				}
				return nil
			}
			p, err := recreate.New(old, recreate.Options{Kind: delegation.Job(), Context: "here", ManagedBy: "example.com/runner"})
			assert.NilError(t, err)
			err = (&recreate.Runner{Cluster: server.Cluster(t, "here"), DeletionTimeout: time.Second, ReadOnly: tt.isReadOnly}).Check(t.Context(), p)
			if tt.want == "" {
				assert.NilError(t, err)
			} else {
				assert.ErrorContains(t, err, tt.want)
			}
			assert.Assert(t, !tt.isReadOnly || writes == 0, "%d writes", writes)
		})
	}
}

// TestCheckOfUnreadableKueue checks that a warning names each object that was not readable: without
// it, MultiKueue may run the Job, or ignore the new one.
func TestCheckOfUnreadableKueue(t *testing.T) {
	for _, tt := range []struct{ from, to, unreadable, want string }{
		{from: "kueue.x-k8s.io/multikueue", to: "example.com/runner", unreadable: "workloads", want: "Cannot read the Workloads of job ml/small: MultiKueue may run it on a worker"},
		{from: "example.com/runner", to: "kueue.x-k8s.io/multikueue", unreadable: "localqueues", want: "Cannot read LocalQueue gpus: if it does not exist, Kueue ignores the new Job"},
	} {
		t.Run(tt.unreadable, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			old := server.Create(t, delegation.Job().Resource, smallJob(t, edit{"spec.managedBy", tt.from}, edit{"spec.suspend", true}))
			server.Before = func(r *http.Request) *apierrors.StatusError {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, tt.unreadable) {
					return apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: tt.unreadable}, "", errors.New("no"))
				}
				return nil
			}
			options := recreate.Options{Kind: delegation.Job(), Context: "here", ManagedBy: tt.to}
			if tt.to == string(delegation.MultiKueue) {
				options.Queue = new("gpus")
			}
			p, err := recreate.New(old, options)
			assert.NilError(t, err)
			runner := &recreate.Runner{Cluster: server.Cluster(t, "here"), DeletionTimeout: time.Second, ReadOnly: true}
			assert.NilError(t, runner.Check(t.Context(), p))
			warnings := strings.Join(p.Warnings, "\n")
			assert.Assert(t, strings.Contains(warnings, tt.want), warnings)
		})
	}
}
