package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// held is a finalizer that keeps a deleted Job, so that a test can act between the deletion and the
// creation.
const held = "example.com/held"

func isHeld(j *batchv1.Job) { j.Finalizers = []string{held} }

func isBeingDeleted(j *batchv1.Job) bool { return j != nil && j.DeletionTimestamp != nil }

// letGo removes the finalizer.
func letGo(t *testing.T, ns string) {
	t.Helper()
	change(t, management, ns, "train", `{"metadata":{"finalizers":null}}`)
}

// denyOwner has the API server refuse to create Jobs of some owners in a namespace, and returns
// once it does.
func denyOwner(t *testing.T, ns string, owners ...string) {
	t.Helper()
	c := client(t, management)
	var rules []admissionregistrationv1.Validation
	for _, owner := range owners {
		rules = append(rules, admissionregistrationv1.Validation{
			Expression: "!has(object.spec.managedBy) || object.spec.managedBy != '" + owner + "'", Message: "denied by " + ns,
		})
	}
	_, err := c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			Validations: rules,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
			}}}},
		},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)
	t.Cleanup(func() {
		assert.NilError(t, c.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(context.Background(), ns, metav1.DeleteOptions{}))
		assert.NilError(t, c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(context.Background(), ns, metav1.DeleteOptions{}))
	})
	_, err = c.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: ns, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": ns}}},
		},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)
	for _, owner := range owners {
		err = poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
			_, err := c.BatchV1().Jobs(ns).Create(ctx, fixture.New(ns, "probe", fixture.ManagedBy(owner)), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err != nil && contains(err.Error(), "denied by "+ns), nil
		})
		assert.NilError(t, err)
	}
}

// recreation is a running recreate whose old Job is deleted, and kept by a finalizer.
type recreation struct {
	t      *testing.T
	stderr dispatching.Output
	out    bytes.Buffer
	done   chan int
	// signal sends a signal to it.
	signal func(os.Signal)
}

func recreates(t *testing.T, ns string, args ...string) *recreation {
	t.Helper()
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner), isHeld))
	cmd := command(t, append([]string{"jobs-managedby"}, recreated(ns, append(args, "--yes")...)...)...)
	r := &recreation{t: t, done: make(chan int, 1)}
	cmd.Stdout, cmd.Stderr = &r.out, &r.stderr
	assert.NilError(t, cmd.Start())
	r.signal = func(s os.Signal) { assert.NilError(t, cmd.Process.Signal(s)) }
	go func() {
		_ = cmd.Wait()
		r.done <- cmd.ProcessState.ExitCode()
	}()
	eventuallyJob(t, management, ns, "train", isBeingDeleted)
	return r
}

func (r *recreation) end() int {
	r.t.Helper()
	select {
	case code := <-r.done:
		return code
	case <-time.After(poll.Limit):
		r.t.Fatal("recreate does not end")
		return 0
	}
}

// TestRecreateRestores checks the case that the API server may refuse the new Job after the old
// one is gone, although it accepted it in a dry run.
func TestRecreateRestores(t *testing.T) {
	t.Parallel()
	const ns = "recreate-restores"
	backup, _ := toFile(t)
	r := recreates(t, ns, "--managed-by", "example.com/denied", backup)
	before := jobOf(t, management, ns, "train")
	denyOwner(t, ns, "example.com/denied")
	letGo(t, ns)
	assert.Equal(t, r.end(), 1)
	assert.Assert(t, contains(r.stderr.String(), "waiting up to 1m0s for finalizers of the old job: "+held,
		"error: context \"management\": cannot create the new job "+ns+"/train: ", "denied by "+ns, "the old one was created again"), "%s", &r.stderr)
	after := jobOf(t, management, ns, "train")
	assert.Assert(t, after.UID != before.UID && ownerIs(runner)(after) && after.DeletionTimestamp == nil, "%+v", after)
	assert.DeepEqual(t, after.Finalizers, []string{held})
	letGo(t, ns)
}

// TestRecreateCannotRestore checks that the error says where the old Job is stored, and how to
// restore it.
func TestRecreateCannotRestore(t *testing.T) {
	t.Parallel()
	const ns = "recreate-lost"
	backup, path := toFile(t)
	r := recreates(t, ns, "--managed-by", "example.com/denied", backup)
	t.Run("denied", func(t *testing.T) {
		denyOwner(t, ns, "example.com/denied", runner)
		letGo(t, ns)
		assert.Equal(t, r.end(), 1)
		assert.Assert(t, jobOf(t, management, ns, "train") == nil)
	})
	restore := "kubectl --context management create -f " + path
	assert.Assert(t, contains(r.stderr.String(), "cannot create the new job", "cannot create the old one again", path, restore), "%s", &r.stderr)
	// The API server may still apply the deleted policy for a moment.
	shell(t, "until "+restore+" 2>/dev/null; do sleep 0.2; done")
	restored := jobOf(t, management, ns, "train")
	assert.Assert(t, ownerIs(runner)(restored))
	letGo(t, ns)
}

// TestRecreateInterrupted checks that an interruption between the deletion and the creation must
// not lose the Job.
func TestRecreateInterrupted(t *testing.T) {
	t.Parallel()
	const ns = "recreate-interrupted"
	backup, _ := toFile(t)
	r := recreates(t, ns, "--managed-by", "", backup)
	r.signal(syscall.SIGINT)
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		return contains(r.stderr.String(), "note: interrupted; the command ends once the new job exists"), nil
	}))
	letGo(t, ns)
	assert.Equal(t, r.end(), 130, "%s", &r.stderr)
	assert.Assert(t, contains(r.out.String(), "job.batch/train recreated"), "%s", &r.out)
	after := jobOf(t, management, ns, "train")
	assert.Assert(t, ownerIs("")(after))
	letGo(t, ns)
}

func TestRecreateWhoseOldJobStays(t *testing.T) {
	t.Parallel()
	const ns = "recreate-stays"
	backup, path := toFile(t)
	r := recreates(t, ns, "--managed-by", "", "--timeout", "2s", backup)
	assert.Equal(t, r.end(), 124)
	assert.Assert(t, contains(r.stderr.String(), "is not gone after 2s: its finalizers block it: "+held, "the new job was not created", path), "%s", &r.stderr)
	letGo(t, ns)
	eventuallyJob(t, management, ns, "train", isGone)
}

// TestRecreateOnAnOldServer checks the case that the server drops managedBy. This is detected
// before anything is deleted. Otherwise the old Job is restored.
func TestRecreateOnAnOldServer(t *testing.T) {
	t.Parallel()
	const ns = "recreate-old"
	createJobs(t, management, fixture.New(ns, "train", fixture.Suspended()))
	side := clusterOf(t, management, oldServer(t, management, "v1.31.4", "spec.managedBy"))
	r := &recreate.Runner{Cluster: side, DeletionTimeout: time.Minute, Backup: "old.yaml"}
	plan := replacement(t, side, ns, runner)
	assert.ErrorContains(t, r.Check(t.Context(), plan), "the API server drops spec.managedBy")
	assert.Equal(t, len(plan.Warnings), 0)

	before := jobOf(t, management, ns, "train")
	_, err := r.Run(t.Context(), plan)
	assert.ErrorContains(t, err, "drops spec.managedBy")
	assert.ErrorContains(t, err, "the old one was created again")
	after := jobOf(t, management, ns, "train")
	assert.Assert(t, after.UID != before.UID && ownerIs("")(after) && *after.Spec.Suspend)
}

func replacement(t *testing.T, side *fleet.Cluster, ns, owner string) *recreate.Replacement {
	t.Helper()
	job, err := side.Objects(delegation.Job().Resource, ns).Get(t.Context(), "train", metav1.GetOptions{})
	assert.NilError(t, err)
	plan, err := recreate.New(job, recreate.Options{ManagedBy: owner})
	assert.NilError(t, err)
	return plan
}

// TestRecreateWithLostAnswers checks the case that the server has processed the request, but the
// answer was lost.
func TestRecreateWithLostAnswers(t *testing.T) {
	t.Parallel()
	const ns = "recreate-unheard"
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner)))
	var deletions, creations atomic.Int32
	side := clusterOf(t, management, func(c *rest.Config) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				lost := r.Method == http.MethodDelete && deletions.Add(1) == 1 || r.Method == http.MethodPost && creations.Add(1) == 1
				if err == nil && lost {
					return nil, errors.Join(answer.Body.Close(), io.ErrUnexpectedEOF)
				}
				return answer, err
			})
		})
	})
	plan := replacement(t, side, ns, "example.com/other")
	created, err := (&recreate.Runner{Cluster: side, DeletionTimeout: time.Minute}).Run(t.Context(), plan)
	assert.NilError(t, err)
	assert.Equal(t, deletions.Load(), int32(2))
	assert.Equal(t, creations.Load(), int32(1), "the new Job is read, and not created twice")
	after := jobOf(t, management, ns, "train")
	assert.Assert(t, ownerIs("example.com/other")(after) && after.UID == created.GetUID())
}

// TestRecreateOfAJobThatChanges checks the case that the status of the Job may change meanwhile,
// but not what was shown to the user.
func TestRecreateOfAJobThatChanges(t *testing.T) {
	t.Parallel()
	const ns = "recreate-changes"
	// It is suspended, so that the built-in controller starts no Pod once it owns the Job.
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner), fixture.Suspended()))
	side := clusterOf(t, management)
	r := &recreate.Runner{Cluster: side, DeletionTimeout: time.Minute}
	plan := replacement(t, side, ns, "")
	change(t, management, ns, "train", `{"spec":{"parallelism":2}}`)
	_, err := r.Run(t.Context(), plan)
	assert.ErrorContains(t, err, "changed since it was shown; nothing was changed")

	plan = replacement(t, side, ns, "")
	change(t, management, ns, "train", `{"status":{"active":1}}`, "status")
	_, err = r.Run(t.Context(), plan)
	assert.ErrorContains(t, err, "is running: 1 Pod is active")
	assert.Assert(t, jobOf(t, management, ns, "train").DeletionTimestamp == nil)

	change(t, management, ns, "train", `{"status":{"active":0}}`, "status")
	plan = replacement(t, side, ns, "")
	change(t, management, ns, "train", `{"status":{"conditions":[{"type":"Waits","status":"True"}]}}`, "status")
	_, err = r.Run(t.Context(), plan)
	assert.NilError(t, err)
	assert.Assert(t, ownerIs("")(jobOf(t, management, ns, "train")))

	plan = replacement(t, side, ns, runner)
	deletes(t, management, ns, "train")
	_, err = r.Run(t.Context(), plan)
	assert.ErrorContains(t, err, "was deleted or replaced by another client")
}
