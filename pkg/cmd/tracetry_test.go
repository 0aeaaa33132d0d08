package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestTraceFileDefaults: a Job that is not submitted yet is judged with the defaults
// of the cluster that it would be submitted to, by a dry run that stores nothing. If a dry run is
// not possible, the Job is judged as written, and a note says so. A Job that a server rejects
// never runs there.
func TestTraceFileDefaults(t *testing.T) {
	const status = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":%q,"details":{"name":%q,"kind":"jobs"}}`
	for name, tt := range map[string]struct {
		code   int
		answer string
		// verdict is the manager's.
		verdict inspect.Verdict
		want    string
	}{
		"defaults":          {code: 201, verdict: inspect.Never},
		"without the right": {code: 403, answer: fmt.Sprintf(status, "Forbidden", 403, `jobs.batch is forbidden: User "x" cannot create resource "jobs"`, ""), verdict: inspect.Fits, want: "is checked without the defaults and webhooks of hub: you may not create jobs there"},
		"a quota":           {code: 403, answer: fmt.Sprintf(status, "Forbidden", 403, `jobs.batch "small" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1`, "small"), verdict: inspect.Fits, want: "exceeded quota: q"},
		"a webhook":         {code: 403, answer: fmt.Sprintf(status, "Forbidden", 403, `admission webhook "policy" denied the request: no team`, ""), verdict: inspect.Never},
		"a bad request":     {code: 400, answer: fmt.Sprintf(status, "BadRequest", 400, `admission webhook "policy" denied the request: no team`, ""), verdict: inspect.Never},
		"no dry runs":       {code: 400, answer: fmt.Sprintf(status, "BadRequest", 400, `admission webhook "policy" does not support dry run`, ""), verdict: inspect.Fits, want: "does not support dry run"},
		"a proxy":           {code: 403, answer: "log in first", verdict: inspect.Fits, want: "is checked without the defaults and webhooks of hub: "},
		"invalid":           {code: 422, answer: fmt.Sprintf(status, "Invalid", 422, `Job.batch "small" is invalid: spec: no`, "small"), verdict: inspect.Never},
		"a broken webhook":  {code: 500, answer: fmt.Sprintf(status, "InternalError", 500, `failed calling webhook`, ""), verdict: inspect.Fits, want: "failed calling webhook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			kubeconfig := serve(t, quotaFleet, func(_ string, w http.ResponseWriter, r *http.Request) bool {
				request, ok := rbactest.RequestOf(r)
				assert.Check(t, !ok || request.AllowedBy(rights.Of(rights.TraceFile)) || request.AllowedBy(rights.Of(rights.LookSecrets)), request.String())
				if r.Method == http.MethodGet {
					return false
				}
				mu.Lock()
				asked = append(asked, r.Method+" "+r.URL.String())
				mu.Unlock()
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.code)
				answer := tt.answer
				if answer == "" {
					text, err := io.ReadAll(r.Body)
					assert.Check(t, err)
					// Like a webhook: more pods than any cluster takes.
					answer = strings.NewReplacer(`"parallelism":1`, `"parallelism":101`, `"completions":1`, `"completions":101`).Replace(string(text))
					assert.Check(t, answer != string(text), answer)
				}
				_, _ = io.WriteString(w, answer)
				return true
			})
			out, errOut, code := run(t, "trace", "-f", manifestOf(t, "small", 1, "1", ""), "--kubeconfig", kubeconfig, "-o", "json")
			assert.DeepEqual(t, asked, []string{"POST /apis/batch/v1/namespaces/default/jobs?dryRun=All&fieldManager=kubectl-jobs-managedby"})
			var trace inspect.Trace
			assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
			assert.Assert(t, trace.Placements[0].Manager)
			assert.Equal(t, trace.Placements[0].Verdict, tt.verdict, "%+v", trace.Placements[0])
			assert.Assert(t, strings.Contains(errOut, tt.want), errOut)
			assert.Equal(t, strings.Contains(errOut, "note:"), tt.want != "", errOut)
			assert.Equal(t, code == util.ExitFindings, tt.verdict == inspect.Never, errOut)
		})
	}
}

// TestTraceFileNeeds checks that a cluster that lacks what the Pods need never runs a Job, that a note
// says what was not checked and where, and that no Secret is read.
func TestTraceFileNeeds(t *testing.T) {
	const status = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":%q,"code":%d,"message":%q,"details":{"name":"robot","kind":"serviceaccounts"}}`
	kubeconfig := serve(t, quotaFleet, func(name string, w http.ResponseWriter, r *http.Request) bool {
		request, ok := rbactest.RequestOf(r)
		assert.Check(t, !ok || request.AllowedBy(rights.Of(rights.TraceFile)) || request.AllowedBy(rights.Of(rights.LookSecrets)), request.String())
		assert.Check(t, !strings.HasSuffix(r.URL.Path, "/secrets/token"), "a Secret was read")
		if !strings.HasSuffix(r.URL.Path, "/serviceaccounts/robot") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		switch name {
		case "east":
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintf(w, status, "NotFound", 404, `serviceaccounts "robot" not found`)
		case "west":
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprintf(w, status, "Forbidden", 403, `serviceaccounts "robot" is forbidden: User "x" cannot get resource "serviceaccounts" in API group "" in the namespace "default"`)
		}
		return true
	})
	path := manifestOf(t, "small", 1, "1", ", serviceAccountName: robot, volumes: [{name: v, secret: {secretName: token}}]")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	// Without an owner, it is submitted to the workers themselves.
	assert.NilError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "managedBy: kueue.x-k8s.io/multikueue, ", "")), 0o600))
	out, errOut, _ := run(t, "trace", "-f", path, "--kubeconfig", kubeconfig, "--contexts", "east,west", "-o", "json")
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
	verdicts := map[string]string{}
	for _, p := range trace.Placements {
		verdicts[p.Context] = string(p.Verdict) + " " + string(p.Reason)
	}
	assert.Equal(t, verdicts["east"], "never DependencyMissing", "%v %s", verdicts, errOut)
	assert.Equal(t, verdicts["west"], "fits HasRoom")
	assert.Assert(t, strings.Contains(errOut, "not checked whether west has ServiceAccount robot: "), errOut)
	assert.Assert(t, strings.Contains(errOut, "not checked whether the clusters have what the Pods need: Secret token"), errOut)
}

// TestTraceFileUnread checks that a Job does not fit for certain where the LimitRanges or the Namespace
// may not be read, that the errors say so, and that unread names of Jobs are noted.
func TestTraceFileUnread(t *testing.T) {
	const status = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"not for you"}`
	for name, tt := range map[string]struct {
		path, message string
		part          inspect.Part
	}{
		"LimitRanges": {"/api/v1/namespaces/default/limitranges", "the LimitRanges of namespace default are unknown: ", inspect.PartLimitRanges},
		"Namespace":   {"/api/v1/namespaces/default", "quota is free; cannot read namespace default: ", inspect.PartNamespaces},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := serve(t, quotaFleet, func(name string, w http.ResponseWriter, r *http.Request) bool {
				if name != "east" || r.URL.Path != tt.path && !strings.HasSuffix(r.URL.Path, "/jobs/small") {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, status)
				return true
			})
			// Without an owner, it is submitted to the workers themselves.
			path := manifestOf(t, "small", 1, "1", "")
			text, err := os.ReadFile(path)
			assert.NilError(t, err)
			assert.NilError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "managedBy: kueue.x-k8s.io/multikueue, ", "")), 0o600))
			out, errOut, code := run(t, "trace", "-f", path, "--kubeconfig", kubeconfig, "--contexts", "east,west", "-o", "json")
			var trace inspect.Trace
			assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
			assert.Equal(t, len(trace.Placements), 2)
			for _, p := range trace.Placements {
				switch p.Context {
				case "east":
					assert.Equal(t, string(p.Verdict)+" "+string(p.Reason), "unknown Unreadable", p.Message)
					assert.Assert(t, strings.HasPrefix(p.Message, tt.message), p.Message)
				case "west":
					assert.Equal(t, p.Verdict, inspect.Fits, p.Message)
				}
			}
			isReported := slices.ContainsFunc(trace.Errors, func(e inspect.ContextError) bool {
				return e.Context == "east" && strings.HasPrefix(e.Message, string(tt.part)+" could not be read: ")
			})
			assert.Assert(t, isReported, "%+v", trace.Errors)
			assert.Equal(t, code, util.ExitPartial)
			assert.Assert(t, strings.Contains(errOut, "not checked whether east has a Job of this name: "), errOut)
		})
	}
}
