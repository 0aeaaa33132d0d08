package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// takes makes the Pods of a Job use all keys of a ConfigMap and a Secret as environment.
func takes() fixture.Option {
	return template(func(s *corev1.PodSpec) {
		s.Containers[0].EnvFrom = []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "extras"}, Optional: new(true)}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "token"}}},
		}
	})
}

// newCopies creates a Job with dependencies that only management has.
func newCopies(t *testing.T, ns string) *preflightCase {
	t.Helper()
	f := newPreflightCase(t, ns, takes())
	f.apply(management, strings.ReplaceAll(`
{apiVersion: v1, kind: ConfigMap, immutable: true, metadata: {name: settings, namespace: NS, labels: {team: a}, finalizers: [example.com/hold]}, data: {a: x}, binaryData: {b: AAE=}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: extras, namespace: NS}, data: {a: x}}
---
{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: NS}, type: example.com/own, stringData: {c: top-secret}}`, "NS", ns))
	t.Cleanup(func() {
		shell(t, fmt.Sprintf(`kubectl --context management -n %s patch configmap settings --type=merge -p '{"metadata":{"finalizers":null}}'`, ns))
	})
	return f
}

func allowed() dependency.Options {
	return dependency.Options{ConfigMaps: true, Secrets: []string{"token"}}
}

// mirror creates the mirror of an origin.
func (f *preflightCase) mirror(origin *unstructured.Unstructured) *unstructured.Unstructured {
	f.t.Helper()
	mirror, err := f.worker.Objects(delegation.Job().Resource, f.ns).Create(f.t.Context(), f.request(origin).Plan.Mirror, metav1.CreateOptions{})
	assert.NilError(f.t, err)
	return mirror
}

func (f *preflightCase) copied(name string) *corev1.ConfigMap {
	f.t.Helper()
	found, err := client(f.t, worker1).CoreV1().ConfigMaps(f.ns).Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	assert.NilError(f.t, err)
	return found
}

func (f *preflightCase) deleteMirror(name string) {
	f.t.Helper()
	shell(f.t, fmt.Sprintf("kubectl --context worker-1 -n %s delete job %s", f.ns, name))
}

// TestDependenciesAreShared copies missing dependencies, shares them among mirrors, and checks that
// they are deleted with the last one.
func TestDependenciesAreShared(t *testing.T) {
	t.Parallel()
	const ns = "copies-shared"
	f := newCopies(t, ns)
	ctx := t.Context()

	found := f.problems()
	assert.Equal(t, len(found), 2, "%s", describeProblems(found))
	assert.Assert(t, contains(string(found[0].Remedy), "run dispatch with --with-dependencies") && contains(string(found[1].Remedy), "run dispatch with --with-secret token"), "%s", describeProblems(found))
	found, copies := f.preflight(f.job, allowed())
	assert.Equal(t, len(found), 0, "%s", describeProblems(found))
	assert.DeepEqual(t, copies, []dependency.Object{
		{Kind: "ConfigMap", Namespace: ns, Name: "extras"}, {Kind: "ConfigMap", Namespace: ns, Name: "settings"}, {Kind: "Secret", Namespace: ns, Name: "token"},
	})

	first := f.mirror(f.job)
	created, err := dependency.Provide(ctx, f.origin, f.worker, first, copies)
	assert.NilError(t, err)
	assert.DeepEqual(t, created, copies)
	settings := f.copied("settings")
	assert.DeepEqual(t, settings.Data, map[string]string{"a": "x"})
	assert.DeepEqual(t, settings.BinaryData, map[string][]byte{"b": {0, 1}})
	assert.Assert(t, *settings.Immutable && len(settings.Finalizers) == 0)
	assert.DeepEqual(t, settings.Labels, map[string]string{delegation.OriginUIDLabel: string(f.job.GetUID())})
	assert.DeepEqual(t, settings.Annotations, map[string]string{delegation.OriginAnnotation: f.origin.UID() + "/" + ns + "/train"})
	token, err := client(t, worker1).CoreV1().Secrets(ns).Get(ctx, "token", metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Assert(t, token.Type == "example.com/own" && string(token.Data["c"]) == "top-secret")

	// A second mirror finds it, and becomes another owner.
	other := f.create("other", takes())
	found, _ = f.preflight(other, dependency.Options{})
	assert.Equal(t, len(found), 2, "%s", describeProblems(found))
	assert.Assert(t, !found[0].Blocking && contains(found[0].Message, "is deleted with its mirror"), "%s", describeProblems(found))
	found, again := f.preflight(other, allowed())
	assert.Equal(t, len(found), 0, "%s", describeProblems(found))
	assert.DeepEqual(t, again, copies)
	second := f.mirror(other)
	for range 2 {
		created, err = dependency.Provide(ctx, f.origin, f.worker, second, again)
		assert.NilError(t, err)
		assert.Equal(t, len(created), 0)
	}
	assert.Equal(t, len(f.copied("settings").OwnerReferences), 2)

	f.deleteMirror("train")
	err = poll.Until(ctx, poll.Limit, func(context.Context) (bool, error) {
		return len(f.copied("settings").OwnerReferences) == 1, nil
	})
	assert.NilError(t, err)
	f.deleteMirror("other")
	err = poll.Until(ctx, poll.Limit, func(context.Context) (bool, error) {
		return f.copied("settings") == nil && f.copied("extras") == nil, nil
	})
	assert.NilError(t, err)
}

// TestDependenciesOfMany checks that many mirrors become owners of one copy concurrently, some of
// them after it was deleted.
func TestDependenciesOfMany(t *testing.T) {
	t.Parallel()
	const ns = "copies-many"
	f := newCopies(t, ns)
	copies := []dependency.Object{{Kind: "ConfigMap", Namespace: ns, Name: "settings"}}
	var mirrors []*unstructured.Unstructured
	for i := range 20 {
		origin := f.create(fmt.Sprintf("many-%d", i), takes())
		mirrors = append(mirrors, f.mirror(origin))
	}
	var group errgroup.Group
	for _, mirror := range mirrors {
		group.Go(func() error {
			_, err := dependency.Provide(t.Context(), f.origin, f.worker, mirror, copies)
			return err
		})
	}
	assert.NilError(t, group.Wait())
	assert.Equal(t, len(f.copied("settings").OwnerReferences), len(mirrors))

	shell(t, "kubectl --context worker-1 -n "+ns+" delete configmap settings")
	for _, mirror := range mirrors {
		group.Go(func() error {
			_, err := dependency.Provide(t.Context(), f.origin, f.worker, mirror, copies)
			return err
		})
	}
	assert.NilError(t, group.Wait())
	assert.Equal(t, len(f.copied("settings").OwnerReferences), len(mirrors))
}

// TestDependenciesOfOthers checks that an object of another owner stays, and is an error. The
// mirror owns the objects that were copied nevertheless.
func TestDependenciesOfOthers(t *testing.T) {
	t.Parallel()
	const ns = "copies-others"
	f := newCopies(t, ns)
	copies := []dependency.Object{{Kind: "ConfigMap", Namespace: ns, Name: "settings"}, {Kind: "ConfigMap", Namespace: ns, Name: "extras"}}
	f.apply(worker1, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: extras, namespace: %s}, data: {own: x}}", ns))
	created, err := dependency.Provide(t.Context(), f.origin, f.worker, f.mirror(f.job), copies)
	assert.ErrorContains(t, err, "one exists that dispatch did not create")
	assert.DeepEqual(t, created, copies[:1])
	extras := f.copied("extras")
	assert.Assert(t, len(extras.OwnerReferences) == 0 && extras.Data["own"] == "x")
	found, fresh := f.preflight(f.job, allowed())
	assert.Equal(t, len(found), 0, "%s", describeProblems(found))
	assert.Assert(t, !slices.Contains(fresh, copies[1]))
	f.deleteMirror("train")
	err = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		return f.copied("settings") == nil, nil
	})
	assert.NilError(t, err)
	assert.Assert(t, f.copied("extras") != nil)
}

// TestDependenciesThatDiffer checks that preflight finds a copy that is older than its original,
// and a Secret that cannot be copied.
func TestDependenciesThatDiffer(t *testing.T) {
	t.Parallel()
	const ns = "copies-differ"
	f := newCopies(t, ns)
	ctx := t.Context()
	mirror := f.mirror(f.create("other", takes()))
	extras := []dependency.Object{{Kind: "ConfigMap", Namespace: ns, Name: "extras"}}
	_, err := dependency.Provide(ctx, f.origin, f.worker, mirror, extras)
	assert.NilError(t, err)
	shell(t, "kubectl --context management -n "+ns+` patch configmap extras --type=merge -p '{"data":{"a":"y"}}'`)
	_, err = dependency.Provide(ctx, f.origin, f.worker, mirror, extras)
	assert.ErrorContains(t, err, "a different copy exists")
	found, _ := f.preflight(f.job, allowed())
	assert.Equal(t, len(found), 1, "%s", describeProblems(found))
	command := "kubectl --context worker-1 -n " + ns + " delete configmap extras"
	assert.Assert(t, found[0].Blocking && contains(string(found[0].Remedy), command), "%s", describeProblems(found))
	shell(t, command)
	found, _ = f.preflight(f.job, allowed())
	assert.Equal(t, len(found), 0, "%s", describeProblems(found))

	shell(t, "kubectl --context management -n "+ns+" delete secret token")
	f.apply(management, fmt.Sprintf(`{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token,
  metadata: {name: token, namespace: %s, annotations: {kubernetes.io/service-account.name: default}}}`, ns))
	_, err = dependency.Provide(ctx, f.origin, f.worker, mirror, []dependency.Object{{Kind: "Secret", Namespace: ns, Name: "token"}})
	assert.ErrorContains(t, err, "is the token of a service account")
	found, _ = f.preflight(f.job, allowed())
	assert.Assert(t, len(found) == 1 && found[0].Blocking && contains(found[0].Message, "token of a service account"), "%s", describeProblems(found))

	p := &preflight.Checker{Origin: f.origin, Worker: f.worker, Dependencies: dependency.Options{Secrets: []string{"token", "tokne"}}}
	_, _, err = p.Check(ctx, f.request(f.job))
	assert.NilError(t, err)
	assert.DeepEqual(t, p.UnusedSecrets(), []string{"tokne"})
}

// TestSecretOfEndedJob checks that if the Job that needed the Secret has ended, the same command
// resumes the other Jobs.
func TestSecretOfEndedJob(t *testing.T) {
	t.Parallel()
	const ns = "secret-of-ended"
	origin(t, ns, "needs", fixture.RunsFor("1s"), needsCopies)
	origin(t, ns, "long", fixture.RunsFor("2h"))
	makeCopied(t, ns)
	args := []string{"needs", "long", "--with-dependencies", "--with-secret", copiedSecret}
	d := dispatches(t, ns, args...)
	eventuallyJob(t, management, ns, "needs", func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130, d.Stderr.String())

	d = dispatches(t, ns, append(args, "--detach-after-start")...)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
}
