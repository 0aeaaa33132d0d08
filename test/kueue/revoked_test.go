package kueue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// account is the ServiceAccount of the manager on a worker.
const account = "revoked"

// TestRevoked checks the case that a worker begins to refuse the manager, whose watches stay open.
// The MultiKueueCluster stays connected, and no Job is given to any worker. The plugin names the
// cause, and its fix lets the Jobs run. It runs alone, since it stops the Jobs of all tests.
func TestRevoked(t *testing.T) {
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 nominates no clusters")
	}
	var err error
	secretData, err = kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker1, "-o", "jsonpath={.data}")
	assert.NilError(t, err)
	assert.NilError(t, multiKueue.Apply(t.Context(), worker1, "apiVersion: v1\nkind: Namespace\nmetadata: {name: kueue-system}\n"))
	kubectlOn(t, worker1, "create", "clusterrolebinding", account, "--clusterrole=cluster-admin", "--serviceaccount=kueue-system:"+account)
	removeGrant := func() {
		names, err := kubectl(context.Background(), "", "--context", worker1, "get", "clusterrolebindings,clusterroles", "-o", "name")
		assert.Check(t, err)
		for _, name := range strings.Fields(names) {
			if strings.Contains(name, "/multikueue-manager-additional-") {
				_, err := kubectl(context.Background(), "", "--context", worker1, "delete", name, "--ignore-not-found")
				assert.Check(t, err)
			}
		}
	}
	// Another test may have left what the fix creates.
	removeGrant()
	t.Cleanup(func() {
		removeGrant()
		_, err := kubectl(context.Background(), "", "--context", management, "-n", "kueue-system", "patch", "secret", worker1, "--type=merge", "-p", `{"data":`+secretData+`}`)
		assert.Check(t, err)
	})
	t.Run("rights", revokedRights)
	t.Run("token", revokedToken)
}

// revokedRights checks the case that the rights of the manager's user are removed. doctor says at
// once which, and its fix grants them, as it is printed.
func revokedRights(t *testing.T) {
	const ns = "revoked-rights"
	logIn(t, ns)
	kubectlOn(t, worker1, "delete", "clusterrolebinding", account)
	refused(t, "forbidden")
	create(t, management, job(ns, "one", "1", "", queue))
	found := setupFinding(t, ns, "JM416")
	t.Logf("%s\n  %s", found.Message, found.Remedy)
	connected(t)
	runSteps(t, &found.Fixes[0])
	eventually(t, "", func() string { return runs(t, ns, "one") })
}

// revokedToken checks the case that the manager's ServiceAccount is deleted. doctor says so at
// once, and check says that the worker is not reached. An administrator makes new credentials, and
// the fix stores them.
func revokedToken(t *testing.T) {
	if os.Getenv("LONG") == "" {
		t.Skip("make test-race runs it: for two minutes and more, no other test of this package can run")
	}
	const ns = "revoked-token"
	logIn(t, ns)
	kubectlOn(t, worker1, "-n", "kueue-system", "delete", "serviceaccount", account)
	refused(t, "provide credentials", "Unauthorized", "logged in")
	create(t, management, job(ns, "one", "1", "", queue)+job(ns, "two", "1", "", queue))
	found := setupFinding(t, ns, "JM405")
	assert.Assert(t, strings.Contains(found.Message, "ServiceAccount kueue-system/"+account+" does not exist"), found.Message)

	f := unreached(t, ns)
	t.Logf("%s\n  %s\n  %s", f.Message, strings.Join(f.Evidence, "\n  "), f.Remedy)
	connected(t)
	assert.Assert(t, strings.Contains(f.Message, worker1), f.Message)
	i := slices.IndexFunc(f.Fixes[0].Then, func(s command.Step) bool {
		return strings.Contains(strings.Join(s.Command, " "), worker1+".kubeconfig")
	})
	assert.Assert(t, i >= 0, "%+v", f.Fixes)
	dir := t.TempDir()
	kubectlOn(t, worker1, "-n", "kueue-system", "create", "serviceaccount", account)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, worker1+".kubeconfig"), kubeconfigWith(t, newToken(t)), 0o600))
	runFixIn(t, dir, &command.Fix{Command: f.Fixes[0].Then[i].Command})
	eventually(t, "", func() string { return runs(t, ns, "one") + runs(t, ns, "two") })
}

// logIn adds queues, has the manager log in to worker 1 by a token, and runs a Job.
func logIn(t *testing.T, ns string) {
	t.Helper()
	assert.NilError(t, addQueues(t.Context(), ns))
	_, err := kubectl(t.Context(), "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: "+account+", namespace: kueue-system}\n", "--context", worker1, "apply", "-f", "-")
	assert.NilError(t, err)
	useCredential(t, newToken(t))
	connected(t)
	t.Cleanup(func() { remove(t, ns) })
	create(t, management, job(ns, "before", "1", "", queue))
	running(t, ns, 1)
}

// newToken is a token of the manager's ServiceAccount for a month.
func newToken(t *testing.T) string {
	t.Helper()
	token, err := kubectl(t.Context(), "", "--context", worker1, "-n", "kueue-system", "create", "token", account, "--duration=720h")
	assert.NilError(t, err)
	return strings.TrimSpace(token)
}

// connected checks that the manager calls all workers connected.
func connected(t *testing.T) {
	t.Helper()
	kubectlOn(t, management, "wait", "--timeout=1m", "multikueueclusters.kueue.x-k8s.io", "--all", "--for=condition=Active")
}

// refused waits until worker 1 refuses the credentials in the manager's Secret, with one of these
// texts. An API server remembers tokens for seconds.
func refused(t *testing.T, why ...string) {
	t.Helper()
	text, err := kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker1, "-o", "go-template={{.data.kubeconfig | base64decode}}")
	assert.NilError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, os.WriteFile(file, []byte(text), 0o600))
	err = poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		_, err := kubectl(ctx, "", "--kubeconfig", file, "get", "workloads.kueue.x-k8s.io", "-A")
		return err != nil && slices.ContainsFunc(why, func(text string) bool { return strings.Contains(err.Error(), text) }), nil
	})
	assert.NilError(t, err)
}

// setupFinding waits for a finding of doctor.
func setupFinding(t *testing.T, ns, code string) (found inspect.Finding) {
	t.Helper()
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		for _, f := range doctorOf(t, "-n", ns).Items {
			if f.Code == code {
				found = f
				return true, nil
			}
		}
		return false, nil
	})
	assert.NilError(t, err, code)
	return found
}

// unreached waits for JM137. Further Jobs show that Kueue is at work.
func unreached(t *testing.T, ns string) (found inspect.Finding) {
	t.Helper()
	const often = 30 * time.Second
	last, n, others := time.Now(), 0, ""
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		if time.Since(last) > often {
			last, n = time.Now(), n+1
			create(t, management, job(ns, fmt.Sprintf("more-%d", n), "1", "", queue))
		}
		others = ""
		for _, f := range read[inspect.FindingList](t, "check", "-n", ns, "--grace", "0s").Items {
			if f.Code == "JM137" {
				found = f
				return true, nil
			}
			others += f.Code + " " + f.Message + "\n" + f.Remedy + "\n"
		}
		return false, nil
	})
	assert.NilError(t, err, others)
	return found
}
