package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// playDispatch does what dispatch does before it copies a status: it creates an origin on
// management and its mirror on worker-1, each with the marks of the other.
func playDispatch(t *testing.T, ns, name string, options ...fixture.Option) *batchv1.Job {
	t.Helper()
	uidOf := func(cluster string) string {
		system, err := client(t, cluster).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
		assert.NilError(t, err)
		return string(system.UID)
	}
	origins, mirrors := client(t, management).BatchV1().Jobs(ns), client(t, worker1).BatchV1().Jobs(ns)
	origin, err := origins.Create(t.Context(), fixture.New(ns, name, append(options, fixture.ManagedBy(string(delegation.Dispatch)))...), metav1.CreateOptions{})
	assert.NilError(t, err)
	mirror := fixture.New(ns, name, append(options, fixture.Labels(delegation.OriginUIDLabel, string(origin.UID)))...)
	mirror.Annotations = map[string]string{delegation.OriginAnnotation: delegation.Place{ClusterUID: uidOf(management), Namespace: ns, Name: name}.String()}
	mirror, err = mirrors.Create(t.Context(), mirror, metav1.CreateOptions{})
	assert.NilError(t, err)
	origin.Annotations = map[string]string{
		delegation.MirrorAnnotation: delegation.Place{ClusterUID: uidOf(worker1), Namespace: ns, Name: name, UID: string(mirror.UID)}.String(),
	}
	origin, err = origins.Update(t.Context(), origin, metav1.UpdateOptions{})
	assert.NilError(t, err)
	return origin
}

// leaseFor returns a Lease for a dispatched Job, acquired two minutes ago.
func leaseFor(origin *batchv1.Job, holder string, seconds int32, renewed time.Time) *coordinationv1.Lease {
	acquireTime, renewTime := metav1.NewMicroTime(time.Now().Add(-2*time.Minute)), metav1.NewMicroTime(renewed)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: delegation.LeaseName(origin.Name), Namespace: origin.Namespace,
			Labels:          map[string]string{delegation.OriginUIDLabel: string(origin.UID)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: origin.Name, UID: origin.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &acquireTime, RenewTime: &renewTime},
	}
}

// leaseFleet creates dispatched Jobs in a namespace of management and worker-1, one for each state
// of a Lease.
func leaseFleet(t *testing.T, ns string) {
	t.Helper()
	for _, cluster := range []string{management, worker1} {
		assert.NilError(t, fixture.Create(t.Context(), client(t, cluster), fixture.New(ns, "plain", fixture.Suspended())))
	}
	createJobs(t, management, fixture.New(ns, "never", fixture.ManagedBy(string(delegation.Dispatch))))
	runs := fixture.RunsFor("1h")
	held, expired, released := playDispatch(t, ns, "held", runs), playDispatch(t, ns, "expired"), playDispatch(t, ns, "released", runs)
	playDispatch(t, ns, "missing", runs)
	for _, l := range []*coordinationv1.Lease{
		leaseFor(held, "alice@laptop", 3600, time.Now()),
		leaseFor(expired, "bob@laptop", 1, time.Now().Add(-time.Hour)),
		leaseFor(released, "", 1, time.Now()),
	} {
		_, err := client(t, management).CoordinationV1().Leases(ns).Create(t.Context(), l, metav1.CreateOptions{})
		assert.NilError(t, err)
	}
}

// holders returns what ls shows about the holders of the Leases, in a word each.
func holders(jobs map[string]inspect.Job) map[string]string {
	found := map[string]string{}
	for name, j := range jobs {
		switch d := j.Dispatcher; {
		case d == nil:
			found[name] = "null"
		case d.Held:
			found[name] = d.Holder
		default:
			found[name] = strings.TrimSpace("nobody " + d.Holder)
		}
	}
	return found
}

// TestLease checks that the holders of the Leases of dispatched Jobs are shown, live and from a
// snapshot, and Jobs without a dispatcher are found.
func TestLease(t *testing.T) {
	t.Parallel()
	const ns = "leases"
	leaseFleet(t, ns)
	fleet := []string{"-n", ns, healthyKubeconfig(t)}
	want := map[string]string{
		"held": "alice@laptop", "expired": "nobody bob@laptop", "released": "nobody", "missing": "nobody", "never": "nobody", "plain": "null",
	}
	contexts := func(args ...string) []string { return append(args, "--contexts", management+","+worker1) }
	var jobs map[string]inspect.Job
	var got map[string]string
	// Wait until the API server has recorded the write of the expired Lease.
	_ = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		jobs = ls(t, append(fleet, "--context", management)...)
		got = holders(jobs)
		return maps.Equal(got, want), nil
	})
	assert.DeepEqual(t, got, want)
	since := time.Since(jobs["held"].Dispatcher.Since.Time)
	assert.Assert(t, since > 2*time.Minute && since < 10*time.Minute, "%s", since)
	assert.Assert(t, time.Since(jobs["held"].Dispatcher.Renewed.Time) < 5*time.Minute)
	assert.Assert(t, jobs["released"].Dispatcher.Since == nil && jobs["released"].Dispatcher.Renewed != nil)
	eventuallyComplete(t, worker1, ns, "expired")

	t.Run("table", func(t *testing.T) {
		out, stderr, code := run(t, append([]string{"ls", "-o", "wide", "--managed-by", "jobmanagedby.github.io/*"}, fleet...)...)
		assert.Equal(t, code, 0, stderr)
		titles, _, _ := strings.Cut(out, "\n")
		at := strings.Index(titles, "DISPATCHER")
		assert.Assert(t, at > 0, "%s", out)
		cells := map[string]string{}
		for _, row := range strings.Split(out, "\n") {
			if fields := strings.Fields(row); len(fields) > 3 && len(row) > at {
				cells[fields[0]] = row[at:]
			}
		}
		assert.Assert(t, strings.HasPrefix(cells["held"], "alice@laptop ("), "%s", out)
		for _, name := range []string{"expired", "released", "missing", "never"} {
			assert.Assert(t, strings.HasPrefix(cells[name], "none "), "%s: %s", name, out)
		}
		out, _, _ = run(t, append([]string{"ls", "--managed-by", "jobmanagedby.github.io/*"}, fleet...)...)
		assert.Assert(t, !strings.Contains(out, "DISPATCHER"), "%s", out)
	})

	t.Run("check", func(t *testing.T) {
		codes := map[string][]string{}
		_ = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
			codes = leaseCodes(t, append([]string{"--grace", "0s", "--all-contexts"}, fleet...)...)
			return len(codes["expired"]) == 1 && codes["expired"][0] == "JM202", nil
		})
		assert.DeepEqual(t, codes, map[string][]string{"expired": {"JM202"}, "released": {"JM201"}, "missing": {"JM201"}})
		assert.Equal(t, len(leaseCodes(t, append([]string{"--grace", "1h"}, fleet...)...)), 0, "findings within the grace period")
		_, _, code := run(t, append([]string{"check", "--grace", "0s"}, fleet...)...)
		assert.Equal(t, code, 3)
		out, _, _ := run(t, append([]string{"trace", "released", "-o", "json", "--contexts", management + "," + worker1}, fleet...)...)
		var trace inspect.Trace
		assert.NilError(t, json.Unmarshal([]byte(out), &trace))
		assert.DeepEqual(t, holders(map[string]inspect.Job{"released": *trace.Origin}), map[string]string{"released": "nobody"})
	})

	t.Run("forbidden", func(t *testing.T) {
		allow(t, client(t, management), ns, "lease-jobs-only", "batch", "jobs")
		as := append([]string{"--context", management, "--as", "lease-jobs-only"}, fleet...)
		for name, holder := range holders(ls(t, as...)) {
			assert.Equal(t, holder, "null", name)
		}
		out, stderr, code := run(t, append([]string{"ls", "-o", "wide", "--no-headers", "--delegated"}, as...)...)
		assert.Equal(t, code, 0, stderr)
		for _, row := range strings.Split(strings.TrimSpace(out), "\n") {
			assert.Assert(t, regexp.MustCompile(`-[0-9a-f]{12} +\? `).MatchString(row), "%s", out)
		}
		out, stderr, code = run(t, append([]string{"check"}, as...)...)
		assert.Equal(t, code, 4, out)
		assert.Assert(t, contains(out, "not checked: ", "leases on management (you may not read them)"), "%s%s", out, stderr)
	})

	t.Run("snapshot", func(t *testing.T) {
		for _, args := range [][]string{
			contexts("-n", ns), {"-n", ns, "--context", management}, {"-n", ns, "--context", management, "--as", "lease-jobs-only"},
		} {
			// A controller may write a status between the two. Then both are read again.
			var back, live string
			_ = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
				dir := filepath.Join(t.TempDir(), "new")
				_, stderr, code := run(t, append([]string{"snapshot", dir}, args...)...)
				assert.Assert(t, code == 0 || strings.Contains(stderr, "cannot read leases.coordination.k8s.io"), "%s", stderr)
				live, _, _ = run(t, append([]string{"ls", "-o", "json"}, args...)...)
				back, stderr, code = run(t, "ls", "-o", "json", "--from", dir)
				assert.Equal(t, code, 0, stderr)
				return back == live, nil
			})
			assert.Equal(t, back, live)
		}
		dir := filepath.Join(t.TempDir(), "new")
		_, stderr, code := run(t, append([]string{"snapshot", dir, "--redact"}, contexts("-n", ns)...)...)
		assert.Equal(t, code, 0, stderr)
		want := maps.Clone(want)
		want["held"], want["expired"] = "REDACTED", "nobody REDACTED"
		assert.DeepEqual(t, holders(ls(t, "--from", dir, "--context", management)), want)
		assert.DeepEqual(t, leaseCodes(t, "--from", dir, "--grace", "0s"), map[string][]string{"expired": {"JM202"}, "released": {"JM201"}, "missing": {"JM201"}})
	})
}

// eventuallyComplete waits until a Job has completed.
func eventuallyComplete(t *testing.T, cluster, ns, name string) {
	t.Helper()
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		j, err := client(t, cluster).BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
		return err == nil && j.Status.CompletionTime != nil, err
	}))
}

// leaseCodes returns the codes about dispatch that check finds, by the names of the Jobs.
func leaseCodes(t *testing.T, args ...string) map[string][]string {
	t.Helper()
	cmd := command(t, append([]string{"jobs-managedby", "check", "-o", "json"}, args...)...)
	cmd.Stderr = nil
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		assert.NilError(t, err)
	}
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal(out, &list))
	codes := map[string][]string{}
	for _, f := range list.Items {
		if strings.HasPrefix(f.Code, "JM2") {
			codes[f.Name] = append(codes[f.Name], f.Code)
			slices.Sort(codes[f.Name])
		}
	}
	return codes
}

// TestDispatchLeftovers checks that Jobs that no dispatcher holds any more are found, and each
// finding is gone once the command that check prints has run.
func TestDispatchLeftovers(t *testing.T) {
	t.Parallel()
	const ns, to = "leases-left", "leases-left-there"
	namespaces(t, to)
	left := func(name string, args ...string) {
		origin(t, ns, name, fixture.RunsFor("1h"))
		d := dispatches(t, ns, append([]string{name}, args...)...)
		eventuallyJob(t, management, ns, name, func(j *batchv1.Job) bool { return j.Status.Ready != nil && *j.Status.Ready == 1 })
		d.Signal(syscall.SIGTERM)
		d.End()
	}
	left("back", "--on-interrupt", "delete")
	left("elsewhere", "--namespace-to", to)
	left("replaced")
	deletes(t, worker1, ns, "replaced")
	eventuallyJob(t, worker1, ns, "replaced", isGone)
	createJobs(t, worker1, fixture.New(ns, "replaced", fixture.RunsFor("1h")))
	origin(t, ns, "kept")
	assert.Equal(t, dispatches(t, ns, "kept", "--mirror-ttl=-1s").End(), 0)

	check := []string{"--grace", "0s", "-n", ns, healthyKubeconfig(t)}
	want := map[string][]string{"back": {"JM203"}, "elsewhere": {"JM201"}, "kept": {"JM204"}}
	assert.DeepEqual(t, leaseCodes(t, check...), want)
	out, _, _ := run(t, append([]string{"check"}, check...)...)
	assert.Assert(t, contains(out, "JM105", "--namespace-to "+to, "dispatch replaced -n "+ns+" --context "+management+" --to "+worker1+" --new-mirror"), "%s", out)

	again := dispatches(t, ns, "elsewhere", "--namespace-to", to)
	again.Expect(dispatch.MirrorFound, "elsewhere")
	assert.Equal(t, dispatches(t, ns, "kept").End(), 0)
	deletes(t, worker1, ns, "replaced")
	eventuallyJob(t, worker1, ns, "replaced", isGone)
	anew := dispatches(t, ns, "replaced", "--new-mirror")
	anew.Expect(dispatch.MirrorCreated, "replaced")
	_, stderr, code := run(t, "cancel", "--yes", "back", "-n", ns, "--context", management, healthyKubeconfig(t))
	assert.Equal(t, code, 0, stderr)
	assert.DeepEqual(t, leaseCodes(t, check...), map[string][]string{})
	for _, d := range []*dispatching.Process{again, anew} {
		d.Signal(syscall.SIGTERM)
		d.End()
	}
}

// TestLeaseOfClientGo checks that the Lease of client-go's leader election is shown correctly:
// held as long as it is renewed, whatever its clock says, and then released.
func TestLeaseOfClientGo(t *testing.T) {
	t.Parallel()
	const ns = "leases-elected"
	assert.NilError(t, fixture.Create(t.Context(), client(t, management),
		fixture.New(ns, "elected", fixture.ManagedBy(string(delegation.Dispatch)))))
	origin, err := client(t, management).BatchV1().Jobs(ns).Get(t.Context(), "elected", metav1.GetOptions{})
	assert.NilError(t, err)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: ns, Name: delegation.LeaseName("elected")}, Client: client(t, management).CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "carol@laptop"}, Labels: map[string]string{delegation.OriginUIDLabel: string(origin.UID)},
		},
		LeaseDuration: 10 * time.Second, RenewDeadline: 8 * time.Second, RetryPeriod: 500 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	assert.NilError(t, err)
	electing, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	var first, last *inspect.Dispatcher
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		last = ls(t, "-n", ns, "--context", management)["elected"].Dispatcher
		switch {
		case last == nil:
			return false, fmt.Errorf("ls does not show the Lease")
		case !last.Held:
			return false, nil
		case first == nil:
			first = last
		}
		// That is longer than its duration without a renewal.
		return last.Renewed.Sub(first.Renewed.Time) > 12*time.Second, nil
	}))
	assert.Equal(t, last.Holder, "carol@laptop")
	assert.Assert(t, last.Since.Equal(first.Since))

	stop()
	<-ended
	last = ls(t, "-n", ns, "--context", management)["elected"].Dispatcher
	assert.Assert(t, last != nil && !last.Held && last.Holder == "" && last.Since == nil && last.Renewed != nil, "%+v", last)
}
