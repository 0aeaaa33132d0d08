package cmd

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// serveWithHooks returns the flags for API servers that answer like those of a bundle, unless the twist
// of a context answers instead.
func serveWithHooks(t *testing.T, dir string, overrides map[string]func(http.ResponseWriter, *http.Request) bool) []string {
	t.Helper()
	kubeconfig := serve(t, dir, func(context string, w http.ResponseWriter, r *http.Request) bool {
		override := overrides[context]
		return override != nil && override(w, r)
	})
	return []string{"--kubeconfig", kubeconfig, "--cache-dir", t.TempDir()}
}

// answered answers every request with a text.
func answered(code int, contentType, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

const jobList = `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1","continue":%q},"items":[%s]}`

// gzipPadded answers with size MiB of blanks, compressed to a few kB.
func gzipPadded(before string, size int) func(http.ResponseWriter, *http.Request) {
	member := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.Bytes()
	}
	// Several compressed pieces are unpacked as one.
	first, each := member(before), member(strings.Repeat(" ", 1<<20))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(slices.Concat(first, bytes.Repeat(each, size)))
	}
}

// TestHostileServers: whatever one server answers to a list request, the objects of the others
// are shown, the faulty context and what could not be done there are named, and no character that
// it sends reaches the terminal unescaped.
func TestHostileServers(t *testing.T) {
	skipIfShort(t)
	const evilJob = `{"metadata":{"name":"x\u001b[2J\u202e\n\tforged  Complete","namespace":"default\u001b[31m","uid":"\u0007","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"managedBy":"a/b\u001b]0;t\u0007"}}`
	var pages atomic.Int64
	// The others need some time, too, on a loaded machine.
	inTime := []string{"--context-timeout", "10s"}
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		code   int
		want   string
		args   []string
	}{
		{"a list that never ends", answered(200, "application/json", fmt.Sprintf(jobList, "again", "")), util.ExitPartial, "repeats a continue token", nil},
		{"a list with new tokens forever", func(w http.ResponseWriter, r *http.Request) {
			if pages.Load() > 200 {
				<-r.Context().Done() // For the rest of the time, instead of in a busy loop.
			}
			answered(200, "application/json", fmt.Sprintf(jobList, fmt.Sprint(pages.Add(1)), ""))(w, r)
		}, util.ExitPartial, "no answer within 10s", inTime},
		{"expired tokens forever", answered(410, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"old\u001b[2J","metadata":{"continue":"again"}}`), util.ExitPartial, `old\x1b[2J`, nil},
		{"a page", answered(200, "text/html", "<html><script>x</script>\x1b[2J"), util.ExitPartial, "cannot list jobs", nil},
		{"a page as an error", answered(502, "text/html", "<html>\x1b[2J bad gateway"), util.ExitPartial, "cannot list jobs", nil},
		{"an error that forges lines", answered(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no\u001b[2J\ncontext management: fine\u202e"}`), util.ExitPartial, `no\x1b[2J context management: fine\u202e`, nil},
		{"another kind", answered(200, "application/json", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`), util.ExitPartial, "cannot list jobs", nil},
		{"nothing", answered(200, "application/json", ""), util.ExitPartial, "cannot list jobs", nil},
		{"brackets", answered(200, "application/json", strings.Repeat("[", 1<<20)), util.ExitPartial, "cannot list jobs", nil},
		{"invalid protobuf", answered(200, "application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff\xff\xff\x0f"), util.ExitPartial, "cannot list jobs", nil},
		{"a truncated body", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"kind":"JobList"`)
		}, util.ExitPartial, "cannot list jobs", nil},
		{"Retry-After of a day", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "86400")
			answered(429, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`)(w, r)
		}, util.ExitPartial, "no answer within 10s", inTime},
		{"a list that grows", gzipPadded(`{"kind":"JobList",`, 300), util.ExitPartial, "larger than 256 MiB", []string{"--context-timeout", "10m"}},
		{"names that move the cursor", answered(200, "application/json", fmt.Sprintf(jobList, "", evilJob)), util.ExitOK, "", nil},
		{"a warning that moves the cursor", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Warning", "299 - \"careful\u009b2J\u202e\"")
			answered(200, "application/json", fmt.Sprintf(jobList, "", ""))(w, r)
		}, util.ExitOK, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			flags := serveWithHooks(t, exampleFleet, map[string]func(http.ResponseWriter, *http.Request) bool{
				"worker-2": func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/jobs") {
						return false
					}
					tt.answer(w, r)
					return true
				},
			})
			flags = append(flags, tt.args...)
			out, errOut, code := run(t, append(flags, "ls", "-A", "--all-contexts")...)
			assert.Equal(t, code, tt.code, out+errOut)
			checkVisible(t, out+errOut)
			assert.Assert(t, strings.Contains(out, "management ") && strings.Contains(out, "worker-1 "), out)
			if tt.code != util.ExitOK {
				assert.Assert(t, strings.Contains(out, "worker-2") && strings.Contains(out, tt.want), out)
			}
			if tt.args != nil {
				// It takes its time.
				return
			}
			out, errOut, code = run(t, append(flags, "check", "-A", "-o", "json", "--fail-on", "none")...)
			// Workloads show that the context reaches the worker, although its address differs.
			assert.Equal(t, code, tt.code, errOut)
			assert.Assert(t, json.Valid([]byte(out)), out)
		})
	}
}

// TestHostileDiscovery: the same for hostile answers to discovery.
func TestHostileDiscovery(t *testing.T) {
	skipIfShort(t)
	list, check, kinds := []string{"ls", "-A", "--all-contexts", "--kinds", "all"}, []string{"check", "-A", "--fail-on", "none"}, []string{"kinds", "--all-contexts"}
	for _, tt := range []struct {
		name, path string
		answer     func(http.ResponseWriter, *http.Request)
		// only is the command that is tried if an answer takes much memory, nil for all.
		only []string
	}{
		{"oversized groups", "/apis", gzipPadded(`{"kind":"APIGroupList","groups":[`, 100), kinds},
		{"a page for groups", "/apis", answered(200, "text/html", "<html>\x1b[2J"), nil},
		{"brackets for groups", "/apis", answered(200, "application/json", strings.Repeat(`{"groups":[`, 1<<16)), nil},
		{"schemas that grow", "/openapi/v3", gzipPadded(`{"paths":{`, 100), kinds},
		{"schemas on another host", "/openapi/v3", answered(200, "application/json", `{"paths":{"apis/batch/v1":{"serverRelativeURL":"http://127.0.0.1:1/x"},"apis/kueue.x-k8s.io/v1beta2":{"serverRelativeURL":"//evil.example/../../x"}}}`), nil},
		{"huge kube-system", "/api/v1/namespaces/kube-system", gzipPadded(`{"kind":"Namespace","metadata":{"uid":"x"},"y":"`, 100), list},
		{"huge version", "/version", gzipPadded(`{`, 100), check},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			flags := serveWithHooks(t, exampleFleet, map[string]func(http.ResponseWriter, *http.Request) bool{
				"worker-2": func(w http.ResponseWriter, r *http.Request) bool {
					if r.URL.Path != tt.path {
						return false
					}
					asked.Store(true)
					tt.answer(w, r)
					return true
				},
			})
			for _, args := range [][]string{list, check, kinds} {
				if len(tt.only) > 0 && args[0] != tt.only[0] {
					continue
				}
				asked.Store(false)
				out, errOut, code := run(t, append(flags, args...)...)
				assert.Assert(t, code == util.ExitOK || code == util.ExitPartial && strings.Contains(out+errOut, "worker-2") || strings.Contains(out, "worker tokyo (no known context reaches it)"), "%v: %d %s", args, code, out+errOut)
				checkVisible(t, out+errOut)
				assert.Assert(t, asked.Load() || tt.only == nil, "no request reached the hostile path")
				assert.Assert(t, args[0] != "ls" || strings.Contains(out, "management ") && strings.Contains(out, "worker-1 "), out)
			}
		})
	}
}

// TestCredentialsReachOneServerOnly: no server gets the credentials for another, wherever it redirects its
// clients; and the programs and servers in a kubeconfig from a cluster are neither run nor asked.
func TestCredentialsReachOneServerOnly(t *testing.T) {
	var elsewhere atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(evil.Close)
	ran := filepath.Join(t.TempDir(), "ran")
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: evil.URL}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "touch", Args: []string{ran}, InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
	text, err := clientcmd.Write(*config)
	assert.NilError(t, err)
	secret := fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"paris","namespace":"kueue-system"},"data":{"kubeconfig":%q}}`, base64.StdEncoding.EncodeToString(text))

	sent := func(code int, to string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case strings.HasPrefix(r.URL.Path, "/k8s/clusters/"):
				// Another cluster behind the same host.
				elsewhere.Add(1)
				return false
			case strings.HasSuffix(r.URL.Path, "/jobs") || strings.HasPrefix(r.URL.Path, "/apis"):
				http.Redirect(w, r, to+r.URL.Path, code)
				return true
			}
			return false
		}
	}
	asked := atomic.Bool{}
	for code, to := range map[int]string{
		http.StatusMovedPermanently: evil.URL, http.StatusFound: "/k8s/clusters/c-victim",
		http.StatusTemporaryRedirect: "/k8s/clusters/c-victim", http.StatusPermanentRedirect: evil.URL,
	} {
		flags := serveWithHooks(t, exampleFleet, map[string]func(http.ResponseWriter, *http.Request) bool{
			"worker-2": sent(code, to),
			"management": func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/secrets/paris") {
					return false
				}
				asked.Store(true)
				answered(200, "application/json", secret)(w, r)
				return true
			},
		})
		for _, args := range [][]string{
			{"ls", "-A", "--all-contexts"},
			{"check", "-A"},
			{"trace", "-A"},
			{"snapshot", filepath.Join(t.TempDir(), "s"), "-A", "--all-contexts"},
			{"logs", "sweep", "-n", "ml"},
			{"dispatch", "sweep", "-n", "ml", "--to", "worker-2", "--dry-run=client"},
			{"__complete", "trace", "--context", "worker-2", ""},
		} {
			out, errOut, got := run(t, append(slices.Clone(args[:1]), append(slices.Clone(flags), args[1:]...)...)...)
			assert.Equal(t, elsewhere.Load(), int64(0), "%d %v", code, args)
			checkVisible(t, out+errOut)
			if args[0] == "ls" {
				assert.Equal(t, got, util.ExitPartial)
				assert.Assert(t, strings.Contains(out, "worker-2") && strings.Contains(out, "redirects are never followed"), out)
			}
		}
	}
	assert.Assert(t, asked.Load(), "no command has read the Secret")
	_, err = os.Stat(ran)
	assert.Assert(t, os.IsNotExist(err), "a program from a kubeconfig was run")
}
