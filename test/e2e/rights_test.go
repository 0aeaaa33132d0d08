package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// requestLog are the requests that a cluster got, and the refused ones.
type requestLog struct {
	mu             sync.Mutex
	asked, refused map[string]bool
	// taken is a right that the user lacks, such as "get jobs.batch", whatever the roles grant.
	taken string
}

// recordRequestsAs returns a kubeconfig of management and worker-1 that acts as a user, and records all
// requests.
func recordRequestsAs(t *testing.T, user string) (kubeconfig string, notes map[string]*requestLog) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	notes = map[string]*requestLog{}
	for _, cluster := range []string{management, worker1} {
		there, err := set.Config(cluster)
		assert.NilError(t, err)
		there.Impersonate.UserName = user
		transport, err := rest.TransportFor(there)
		assert.NilError(t, err)
		target, err := url.Parse(there.Host)
		assert.NilError(t, err)
		n := &requestLog{asked: map[string]bool{}, refused: map[string]bool{}}
		forward := &httputil.ReverseProxy{
			Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			ModifyResponse: func(r *http.Response) error {
				if asked, ok := rbactest.RequestOf(r.Request); ok {
					asked.Name = ""
					n.mu.Lock()
					defer n.mu.Unlock()
					n.asked[asked.String()] = true
					if r.StatusCode == http.StatusForbidden {
						n.refused[asked.String()] = true
					}
				}
				return nil
			},
		}
		s := httptest.NewServer(n.without(forward))
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
		notes[cluster] = n
		config.Clusters[cluster] = &clientcmdapi.Cluster{Server: s.URL}
		config.AuthInfos[cluster] = &clientcmdapi.AuthInfo{}
		config.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: cluster}
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig, notes
}

// take removes a right of the user.
func (n *requestLog) take(right string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.taken = right
}

// without refuses requests for rights that the user lacks, also when the user asks whether they
// have them.
func (n *requestLog) without(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		taken := n.taken
		n.mu.Unlock()
		asked, ok := rbactest.RequestOf(r)
		if ok && rightOf(asked) == taken {
			n.mu.Lock()
			n.refused[asked.String()] = true
			n.mu.Unlock()
			rbactest.Refuse(w, asked)
			return
		}
		if ok && taken != "" && asked.Resource == "selfsubjectaccessreviews" {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var review authorizationv1.SelfSubjectAccessReview
			if err == nil && json.Unmarshal(body, &review) == nil && review.Spec.ResourceAttributes != nil {
				a := review.Spec.ResourceAttributes
				resource := strings.TrimSuffix(a.Resource+"/"+a.Subresource, "/")
				if rightOf(rbactest.Request{Verb: a.Verb, Group: a.Group, Resource: resource}) == taken {
					n.mu.Lock()
					n.refused[taken+" asked for"] = true
					n.mu.Unlock()
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusCreated)
					_ = json.NewEncoder(w).Encode(&review) // Nothing is allowed.
					return
				}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// rightOf returns the right that a request needs, without the namespace.
func rightOf(r rbactest.Request) string {
	return r.Verb + " " + schema.GroupResource{Group: r.Group, Resource: r.Resource}.String()
}

// seen returns all requests, and the refused ones.
func (n *requestLog) seen() (asked, refused []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.asked)), slices.Sorted(maps.Keys(n.refused))
}

// have grants a user of a cluster the roles of a task as the repository has them: in a namespace,
// and cluster-wide.
func have(t *testing.T, cluster, ns, user, task string) {
	t.Helper()
	file := "../../rbac/" + task + ".yaml"
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	kubectl := func(words ...string) {
		t.Helper()
		out, err := command(t, append([]string{"--context", cluster}, words...)...).Output()
		assert.NilError(t, err, "%s", out)
	}
	kubectl("apply", "-f", file)
	role := "jobs-managedby-" + task
	kubectl("create", "rolebinding", user+"-"+task, "-n", ns, "--clusterrole="+role, "--user="+user)
	if strings.Contains(string(text), role+"-cluster") {
		kubectl("create", "clusterrolebinding", user+"-"+task, "--clusterrole="+role+"-cluster", "--user="+user)
	}
}

// eventuallyMay waits until a user may do what the last rule of the tasks says.
func eventuallyMay(t *testing.T, cluster, ns, user, task string) {
	t.Helper()
	for _, r := range rights.Of(task) {
		if r.Scope != rights.InNamespaces {
			continue
		}
		resource, subresource, _ := strings.Cut(r.Resource.Resource, "/")
		for _, verb := range r.Verbs {
			may := &authorizationv1.LocalSubjectAccessReview{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns},
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: ns, Verb: verb, Group: r.Resource.Group, Resource: resource, Subresource: subresource,
				}},
			}
			assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
				answer, err := client(t, cluster).AuthorizationV1().LocalSubjectAccessReviews(ns).Create(ctx, may, metav1.CreateOptions{})
				return err == nil && answer.Status.Allowed, err
			}))
		}
	}
}

// refusesNothing asserts that clusters have refused nothing so far.
func refusesNothing(t *testing.T, notes map[string]*requestLog, what string) {
	t.Helper()
	for cluster, n := range notes {
		_, refused := n.seen()
		assert.Assert(t, len(refused) == 0, "%s is refused on %s: %q", what, cluster, refused)
	}
}

// TestExactlyTheRights checks that with the roles of the repository, and no more, the commands do
// what they are for, and are refused nothing.
func TestExactlyTheRights(t *testing.T) {
	t.Parallel()
	const ns, user = "exact-rights", "few-rights"
	origin(t, ns, "train", fixture.RunsFor("1s"))
	origin(t, ns, "long", fixture.RunsFor("1h"))
	origin(t, ns, "idle")
	have(t, management, ns, user, rights.DispatchOrigin)
	have(t, management, ns, user, rights.Recreate)
	have(t, worker1, ns, user, rights.DispatchMirror)
	// cancel looks for copies that were left.
	have(t, worker1, ns, user, rights.DispatchCopy)
	eventuallyMay(t, management, ns, user, rights.DispatchOrigin)
	eventuallyMay(t, management, ns, user, rights.Recreate)
	eventuallyMay(t, worker1, ns, user, rights.DispatchCopy)
	kubeconfig, notes := recordRequestsAs(t, user)
	here := []string{"-n", ns, "--context", management, "--kubeconfig", kubeconfig}

	d := dispatches(t, ns, "train", "--kubeconfig", kubeconfig)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	file := filepath.Join(t.TempDir(), "job.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(`{apiVersion: batch/v1, kind: Job, metadata: {name: new}, spec: {managedBy: jobmanagedby.github.io/dispatch,
		template: {spec: {restartPolicy: Never, containers: [{name: main, image: i}]}}}}`), 0o600))
	d = dispatches(t, ns, "-f", file, "--kubeconfig", kubeconfig)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	succeeds(t, append([]string{"dispatch", "long", "--to", worker1, "--detach-after-start"}, here...)...)
	refusesNothing(t, notes, "dispatch")
	succeeds(t, append([]string{"cancel", "--yes", "long"}, here...)...)
	refusesNothing(t, notes, "cancel")
	succeeds(t, append([]string{"recreate", "idle", "--managed-by", "example.com/other", "--yes", "--backup", filepath.Join(t.TempDir(), "old.yaml")}, here...)...)
	refusesNothing(t, notes, "recreate")

	// None is too much.
	for cluster, tasks := range map[string][]string{management: {rights.DispatchOrigin, rights.Recreate}, worker1: {rights.DispatchMirror}} {
		asked, _ := notes[cluster].seen()
		for _, task := range tasks {
			for _, r := range rights.Of(task) {
				for _, verb := range r.Verbs {
					// What is listed where a watch does not begin with all there is, and what is for
					// another command, for pods that name more, and for queues.
					isFor := verb == "list" && r.Resource.Resource == "jobs" || r.IsOptional && (verb == "get" || r.Resource.Group == "kueue.x-k8s.io")
					isAsked := slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(a, verb+" "+r.Resource.String()+" ") })
					assert.Check(t, isAsked || isFor, "no request to %s to %s %s for %s: %q", cluster, verb, r.Resource, task, asked)
				}
			}
		}
	}
}

// TestExactlyTheRightsToRead checks that with the roles to look and to read logs, and no more,
// nothing is refused, and nothing looks different than to an administrator.
func TestExactlyTheRightsToRead(t *testing.T) {
	// Where Kueue is installed, there is more to look at, and to be refused.
	serving(t, "no others", management, worker1)
	const ns, user = "exact-rights-look", "few-rights-reader"
	origin(t, ns, "idle")
	origin(t, ns, "long", fixture.RunsFor("1h"))
	for _, cluster := range []string{management, worker1} {
		have(t, cluster, ns, user, rights.Look)
		have(t, cluster, ns, user, rights.Logs)
		eventuallyMay(t, cluster, ns, user, rights.Logs)
	}
	d := dispatches(t, ns, "long", "--detach-after-start")
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	kubeconfig, notes := recordRequestsAs(t, user)
	everything, _ := recordRequestsAs(t, "")
	list := []string{"ls", "-n", ns, "--contexts", management + "," + worker1, "-o", "json", "--kubeconfig"}
	var admin, few, stderr string
	// The Job that runs may change in between.
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		admin, _ = succeeds(t, append(list, everything)...)
		few, stderr = succeeds(t, append(list, kubeconfig)...)
		return few == admin, nil
	})
	refusesNothing(t, notes, "ls")
	assert.Assert(t, err == nil || few == admin, "%s\n%s\n%s", few, admin, stderr)
	_, stderr, code := run(t, "check", "-n", ns, "--all-contexts", "--fail-on", "none", "--kubeconfig", kubeconfig)
	assert.Equal(t, code, 0, stderr)
	refusesNothing(t, notes, "looking")
	watching := command(t, "jobs-managedby", "ls", "-w", "-n", ns, "--context", management, "--kubeconfig", kubeconfig)
	assert.NilError(t, watching.Start())
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		asked, _ := notes[management].seen()
		return slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(a, "watch jobs.batch ") }), nil
	}))
	assert.NilError(t, watching.Process.Signal(syscall.SIGTERM))
	_ = watching.Wait() // It was interrupted.
	refusesNothing(t, notes, "watching")
	asked, _ := notes[management].seen()
	assert.Assert(t, slices.Contains(asked, "list leases.coordination.k8s.io in "+ns), "%q", asked)
}
