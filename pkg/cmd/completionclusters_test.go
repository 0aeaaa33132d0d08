package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"

	batchv1 "k8s.io/api/batch/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// hideKubeconfig hides the kubeconfig of the user who runs the test, and returns the path at
// which another one is looked for.
func hideKubeconfig(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", path)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	return path
}

// kubeconfig writes a kubeconfig with a context for each server, of the same name; current is the
// current one.
func kubeconfig(t *testing.T, current string, servers map[string]string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = current
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: "secret"}
	for name, server := range servers {
		config.Clusters["c-"+name] = &clientcmdapi.Cluster{Server: server}
		config.Contexts[name] = &clientcmdapi.Context{Cluster: "c-" + name, AuthInfo: "admin", Namespace: "team"}
	}
	assert.NilError(t, clientcmd.WriteToFile(*config, hideKubeconfig(t)))
}

// apiServer returns a server with n Jobs, of which the first is dispatched, that counts its
// requests. It has as many objects of every other kind, with the same names.
func apiServer(t *testing.T, n int) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	jobs := &batchv1.JobList{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "JobList"}}
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Format: "name"}, {Name: "Age"}}}
	for i := range n {
		job := fixture.New("team", fmt.Sprintf("job-%05d", i))
		if i == 0 {
			job.Annotations = map[string]string{delegation.MirrorAnnotation: "c/n/" + job.Name + "/u"}
			fixture.ManagedBy(string(delegation.Dispatch))(job)
		}
		jobs.Items = append(jobs.Items, *job)
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{job.Name, "5m"}})
	}
	// That is the page size of requests.
	const page = 500
	if n > page {
		jobs.Items, jobs.Continue = jobs.Items[:page], "more"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var answer any = jobs
		if strings.Contains(r.Header.Get("Accept"), "as=Table") {
			answer = table
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func TestCompletionFromKubeconfig(t *testing.T) {
	hub, asked := apiServer(t, 3)
	west, _ := apiServer(t, 1)
	kubeconfig(t, "hub", map[string]string{"hub": hub, "west": west, "twin": hub, "evil\x1b[31m": "http://127.0.0.1:1"})
	for _, tt := range []struct {
		name  string
		words []string
		want  string
		asked int32
	}{
		{"contexts", []string{"ls", "--context", ""}, "hub twin west", 0},
		{"contexts to dispatch to", []string{"dispatch", "--to", ""}, "twin west", 0},
		{"another context to dispatch to", []string{"dispatch", "--to", "twin,"}, "twin,west", 0},
		{"contexts to dispatch to from another", []string{"dispatch", "--context", "west", "--to", ""}, "hub twin", 0},
		{"clusters", []string{"ls", "--cluster", "c-w"}, "c-west", 0},
		{"users", []string{"ls", "--user", ""}, "admin", 0},
		{"Jobs of the current context", []string{"recreate", ""}, "job-00000 job-00001 job-00002", 1},
		{"Jobs of a context", []string{"recreate", "--context", "west", ""}, "job-00000", 0},
		{"Jobs of all contexts, each server once", []string{"trace", ""}, "job-00000 job-00001 job-00002", 1},
		{"objects of a kind", []string{"trace", "--context", "west", "rayjob/"}, "rayjob/job-00000", 0},
		{"Jobs that are dispatched", []string{"cancel", ""}, "job-00000", 1},
		{"each Job once", []string{"cancel", "job-00000", ""}, "", 1},
		{"Jobs to dispatch", []string{"dispatch", "job-00001", ""}, "job-00000", 1},
		{"Jobs of another owner", []string{"dispatch", "--managed-by", "a.b/c", ""}, "", 1},
		{"objects of a kind to dispatch", []string{"dispatch", "--context", "west", "rayjob/"}, "rayjob/job-00000", 0},
		{"objects of a kind to cancel", []string{"cancel", "--context", "west", "rayjob/"}, "rayjob/job-00000", 0},
		{"objects of a kind to recreate", []string{"recreate", "--context", "west", "rayjob/"}, "rayjob/job-00000", 0},
		{"namespaces", []string{"ls", "-n", ""}, "job-00000 job-00001 job-00002", 1},
		{"namespaces of the worker", []string{"dispatch", "--to", "west", "--namespace-to", ""}, "job-00000", 0},
		{"Secrets", []string{"dispatch", "--with-secret", ""}, "job-00000 job-00001 job-00002", 1},
		{"queues", []string{"recreate", "--context", "west", "--queue", ""}, "job-00000", 0},
		{"queues of a kind", []string{"queues", "--context", "west", "cq/"}, "cq/job-00000", 0},
		{"queues of a namespace", []string{"queues", "--context", "west", "-n", "team", "localqueue/"}, "localqueue/job-00000", 0},
		{"queues of a kind in no namespace", []string{"queues", "--context", "west", "-n", "team", "cq/"}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := asked.Load()
			choices, directive := completed(t, tt.words...)
			assert.Equal(t, strings.Join(choices, " "), tt.want)
			assert.Equal(t, directive, "4")
			assert.Equal(t, asked.Load()-before, tt.asked, "requests to the first server")
		})
	}
	for _, words := range [][]string{{"cancel", "--context", "west", "rayj"}, {"queues", "--context", "west", "clu"}} {
		choices, directive := completed(t, words...)
		assert.DeepEqual(t, choices, map[string][]string{"cancel": {"rayjob/"}, "queues": {"clusterqueue/"}}[words[0]])
		assert.Equal(t, directive, "6", "the word continues")
	}
}

// TestCompletionReadsEachServerOnce: contexts are distinguished by everything that says which
// server they reach, not only by a host, which may be a tunnel's. One address may be written in
// several forms.
func TestCompletionReadsEachServerOnce(t *testing.T) {
	here, asked := apiServer(t, 1)
	asks := func() int32 {
		before := asked.Load()
		choices, _ := completed(t, "trace", "")
		assert.DeepEqual(t, choices, []string{"job-00000"})
		return asked.Load() - before
	}
	kubeconfig(t, "a", map[string]string{"a": here, "b": strings.Replace(here, "http", "HTTP", 1) + "/"})
	assert.Equal(t, asks(), int32(1), "one server must get one request")

	kubeconfig(t, "a", map[string]string{"a": here, "b": here})
	config, err := clientcmd.LoadFromFile(os.Getenv("KUBECONFIG"))
	assert.NilError(t, err)
	// Behind the proxy, another cluster answers at that address.
	config.Clusters["c-b"].ProxyURL = here
	assert.NilError(t, clientcmd.WriteToFile(*config, os.Getenv("KUBECONFIG")))
	assert.Equal(t, asks(), int32(2), "another route may reach another server")
}

// TestCompletionFromContextsVariable: the contexts are those of the environment variable, except
// for commands that always work in the current context.
func TestCompletionFromContextsVariable(t *testing.T) {
	here, _ := apiServer(t, 2)
	usual, _ := apiServer(t, 1)
	kubeconfig(t, "hub", map[string]string{"hub": here, "west": usual})
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"trace", ""}, "job-00000\n:4\n"},
		{[]string{"ls", "-n", ""}, "job-00000\n:4\n"},
		{[]string{"recreate", ""}, "job-00000\njob-00001\n:4\n"},
		{[]string{"recreate", "-n", ""}, "job-00000\njob-00001\n:4\n"},
	} {
		variables := map[string]string{complete.TimeVariable: "1m", util.ContextsVariable: "w*"}
		out, _, code := runIn(t, "kubectl-jobs_managedby", variables, append([]string{cobra.ShellCompRequestCmd}, tt.words...)...)
		assert.Equal(t, code, 0)
		assert.Equal(t, out, tt.want)
	}
}

// TestCompletionErrorsAreSilent: whatever is wrong, there are no choices, no names of files, and no
// message about it.
func TestCompletionErrorsAreSilent(t *testing.T) {
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer func() { _ = hangs.Close() }()
	forbids := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", `299 - "this is deprecated"`)
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`))
	}))
	defer forbids.Close()
	servesHTML := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>log in here</html>"))
	}))
	defer servesHTML.Close()
	kubeconfig(t, "hub", map[string]string{
		"hub": "http://127.0.0.1:1", "hangs": "http://" + hangs.Addr().String(), "forbids": forbids.URL, "raves": servesHTML.URL, "mad": "http://[::1",
	})
	broken := filepath.Join(t.TempDir(), "broken")
	assert.NilError(t, os.WriteFile(broken, []byte("{"), 0o600))
	for _, global := range [][]string{
		{"--context", "hub"},
		{"--context", "hangs"},
		{"--context", "forbids"},
		{"--context", "raves"},
		{"--context", "mad"},
		{"--context", "no-such"},
		{"--user", "no-such"},
		{"--server", "http://127.0.0.1:1"},
		{"--kubeconfig", broken},
		{"--kubeconfig", filepath.Join(broken, "none")},
		{"--certificate-authority", "/no/such/ca.crt"},
	} {
		for _, words := range [][]string{
			{"trace", ""},
			{"trace", "job/"},
			{"dispatch", ""},
			{"cancel", "x"},
			{"recreate", ""},
			{"ls", "-n", ""},
			{"dispatch", "--to", "no-such", "--namespace-to", ""},
			{"dispatch", "--with-secret", ""},
			{"recreate", "--queue", ""},
			{"ls", "--managed-by", "x"},
		} {
			t.Run(strings.Join(append(global, words...), " "), func(t *testing.T) {
				all := append([]string{words[0]}, append(global, words[1:]...)...)
				choices, directive := completedWithin(t, "50ms", all...)
				assert.Equal(t, len(choices), 0, choices)
				assert.Equal(t, directive, "4")
			})
		}
	}
}

// TestLongListsOfChoicesAreFolded: the choices are common prefixes, from which the shell can continue.
func TestLongListsOfChoicesAreFolded(t *testing.T) {
	url, _ := apiServer(t, 10000)
	kubeconfig(t, "hub", map[string]string{"hub": url})
	choices, directive := completed(t, "trace", "")
	assert.Equal(t, len(choices), 100)
	assert.Equal(t, choices[99], "job-099\t100 names")
	assert.Equal(t, directive, "6")

	choices, directive = completed(t, "cancel", "")
	assert.Equal(t, len(choices), 101)
	assert.Equal(t, choices[0], "job-00000", "the wanted Job must come first")
	assert.Equal(t, choices[1], "job-000\t99 names")
	assert.Equal(t, directive, "38")

	choices, directive = completed(t, "trace", "job-0991")
	assert.Equal(t, len(choices), 10)
	assert.Equal(t, choices[0], "job-09910")
	assert.Equal(t, directive, "4")
}
