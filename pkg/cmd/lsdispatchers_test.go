package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// dispatchedBundle returns a bundle of a dispatched Job on hub and its mirror on worker, which
// has run for an hour, with further fields and objects of hub.
func dispatchedBundle(t *testing.T, fields, objects string) string {
	t.Helper()
	const list = "apiVersion: v1\nkind: List\nitems:\n"
	const running = "completions: 1, parallelism: 1}, status: {active: 1, ready: 1, startTime: \"2026-01-31T11:00:00Z\"}}\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"snapshot.yaml": `apiVersion: jobmanagedby.github.io/v1alpha1
kind: Snapshot
takenAt: "2026-01-31T12:00:00Z"
contexts:
- {name: worker, server: "https://worker.example:6443", file: worker.yaml}
- name: hub
  server: https://hub.example:6443
  file: hub.yaml
` + fields,
		"hub.yaml": list + `- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: hub-uid}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: default, uid: u, creationTimestamp: "2026-01-31T11:00:00Z",
    annotations: {jobmanagedby.github.io/mirror: worker-uid/default/train/m}}, spec: {managedBy: jobmanagedby.github.io/dispatch, ` + running + objects,
		"worker.yaml": list + `- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: worker-uid}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: default, uid: m, creationTimestamp: "2026-01-31T11:00:00Z",
    labels: {jobmanagedby.github.io/origin-uid: u}, annotations: {jobmanagedby.github.io/origin: hub-uid/default/train}}, spec: {` + running,
	} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// leaseRenewed returns the Lease of that Job, renewed at a time.
func leaseRenewed(clock string) string {
	return `- {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: jobs-managedby-train, namespace: default, labels: {jobmanagedby.github.io/origin-uid: u}},
    spec: {holderIdentity: alice@laptop, leaseDurationSeconds: 15, acquireTime: "2026-01-31T11:00:00.000000Z", renewTime: "2026-01-31T` + clock + `.000000Z"}}
`
}

func TestDispatchers(t *testing.T) {
	const serves = "  served: [coordination.k8s.io/v1]\n"
	const forbidden = serves + "  unread: [{resource: leases.coordination.k8s.io, status: {code: 403, reason: Forbidden, message: leases are forbidden}}]\n"
	for _, tt := range []struct {
		name, fields, objects string
		// cell and json are the output of ls, and findings are the findings in it.
		cell, json, findings string
		// code is the exit code of check, and message is in its output or errors.
		code    int
		message string
	}{
		{
			"held", "", leaseRenewed("11:59:58"), "alice@laptop (60m)",
			`{"holder":"alice@laptop","since":"2026-01-31T11:00:00Z","renewed":"2026-01-31T11:59:58Z","held":true}`, "[]", util.ExitOK, "No findings",
		},
		{
			"expired", "", leaseRenewed("11:50:00"), "none",
			`{"holder":"alice@laptop","since":"2026-01-31T11:00:00Z","renewed":"2026-01-31T11:50:00Z","held":false}`, `["JM201"]`, util.ExitFindings, "",
		},
		{
			"expired, but not for long", "", leaseRenewed("11:58:00"), "none",
			`{"holder":"alice@laptop","since":"2026-01-31T11:00:00Z","renewed":"2026-01-31T11:58:00Z","held":false}`, "[]", util.ExitOK, "No findings",
		},
		{"none", serves, "", "none", `{"holder":"","since":null,"renewed":null,"held":false}`, `["JM201"]`, util.ExitFindings, ""},
		{"forbidden", forbidden, "", "?", "null", "null", util.ExitPartial, "not checked: leases on hub (list leases.coordination.k8s.io: leases are forbidden"},
		{"older snapshot", "", "", "?", "null", "null", util.ExitPartial, "not checked: leases on "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := dispatchedBundle(t, tt.fields, tt.objects)
			job := func(args ...string) inspect.Job {
				out, errOut, code := run(t, append([]string{"ls", "-o", "json", "--from", dir, "--delegated"}, args...)...)
				assert.Equal(t, code, util.ExitOK, errOut)
				fits(t, "ownerlist", out)
				var list inspect.OwnerList
				assert.NilError(t, json.Unmarshal([]byte(out), &list))
				return *list.Items[0].Jobs[0]
			}
			for _, args := range [][]string{nil, {"--contexts", "hub"}} {
				j := job(args...)
				text, err := json.Marshal(j.Dispatcher)
				assert.NilError(t, err)
				assert.Equal(t, string(text), tt.json)
				found, err := json.Marshal(j.Findings)
				assert.NilError(t, err)
				if args == nil {
					assert.Equal(t, string(found), tt.findings)
				} else {
					assert.Equal(t, string(found), "null", "not all contexts were read")
				}
			}
			out, errOut, code := run(t, "ls", "-o", "wide", "--from", dir, "--no-headers", "--managed-by", "jobmanagedby.github.io/*")
			assert.Equal(t, code, util.ExitOK, errOut)
			assert.Assert(t, regexp.MustCompile("  u +"+regexp.QuoteMeta(tt.cell)+"  ").MatchString(out), "%s", out)
			out, _, _ = run(t, "ls", "--from", dir)
			assert.Assert(t, !strings.Contains(out, "DISPATCHER") && !strings.Contains(out, tt.cell), "%s", out)
			out, errOut, code = run(t, "check", "--from", dir)
			assert.Equal(t, code, tt.code, "%s%s", out, errOut)
			assert.Assert(t, strings.Contains(out+errOut, tt.message), "%s%s", out, errOut)
			out, _, _ = run(t, "trace", "train", "--from", dir, "-o", "json")
			fits(t, "trace", out)
		})
	}
	out, _, _ := run(t, "ls", "-o", "wide", "--from", filepath.Join(recordings, "running"))
	assert.Assert(t, !strings.Contains(out, "DISPATCHER"), "no Job is dispatched: %s", out)
}
