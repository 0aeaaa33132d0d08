package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// developer may do everything in one namespace of a cluster, and nothing outside it: it may not
// even read the UID of the cluster.
const developer = "developer"

// developers creates that user on the clusters, and waits until its rights apply.
func developers(t *testing.T, ns string, on ...string) {
	t.Helper()
	for _, cluster := range on {
		_, err := client(t, cluster).RbacV1().RoleBindings(ns).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: developer},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: developer}},
		}, metav1.CreateOptions{})
		assert.NilError(t, err)
		config, err := set.Config(cluster)
		assert.NilError(t, err)
		config.Impersonate.UserName = developer
		c, err := kubernetes.NewForConfig(config)
		assert.NilError(t, err)
		may := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: ns, Verb: "*", Group: "*", Resource: "*"},
		}}
		err = poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
			answer, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, may, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		})
		assert.NilError(t, err)
	}
}

// kubeconfigWith returns the flag for a kubeconfig of contexts, given as "name=cluster", as
// "name=cluster developer", and as "name=cluster elsewhere" for the developer at another address.
func kubeconfigWith(t *testing.T, contexts ...string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	own := clientcmdapi.NewConfig()
	own.CurrentContext = management
	for _, c := range contexts {
		name, of, _ := strings.Cut(c, "=")
		cluster, who, _ := strings.Cut(of, " ")
		there := config.Contexts[cluster]
		user := config.AuthInfos[there.AuthInfo].DeepCopy()
		own.Clusters[name] = config.Clusters[there.Cluster]
		switch who {
		case "developer":
			user.Impersonate = developer
		case "elsewhere":
			own.Clusters[name] = anotherAddress(t, cluster)
			user = &clientcmdapi.AuthInfo{}
		}
		own.AuthInfos[name] = user
		own.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*own, path))
	return "--kubeconfig=" + path
}

// anotherAddress serves a cluster at another address, with another authority, at which every client
// is the developer.
func anotherAddress(t *testing.T, cluster string) *clientcmdapi.Cluster {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	config.Impersonate.UserName = developer
	transport, err := rest.TransportFor(config)
	assert.NilError(t, err)
	target, err := url.Parse(config.Host)
	assert.NilError(t, err)
	s := httptest.NewTLSServer(&httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	})
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &clientcmdapi.Cluster{Server: s.URL, CertificateAuthorityData: authority}
}

// succeeds runs the plugin and expects exit code 0.
func succeeds(t *testing.T, args ...string) (out, stderr string) {
	t.Helper()
	out, stderr, code := run(t, args...)
	assert.Equal(t, code, 0, "%s%s", out, stderr)
	return out, stderr
}

// listed counts how often Jobs of a name are listed, by their UIDs.
func listed(t *testing.T, out, name string) map[string]int {
	t.Helper()
	var list inspect.OwnerList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	times := map[string]int{}
	for _, j := range list.All() {
		if j.Name == name {
			times[j.UID]++
		}
	}
	return times
}

// findings returns the codes that check finds in a namespace.
func findings(t *testing.T, kubeconfig, ns string) (codes []string) {
	t.Helper()
	out, stderr, code := run(t, "check", kubeconfig, "-n", ns, "--grace", "0s", "--fail-on", "none", "-o", "json")
	assert.Equal(t, code, 0, stderr)
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	for _, f := range list.Items {
		codes = append(codes, f.Code+" "+f.Name)
	}
	return codes
}

// TestTwoUsersOfOneCluster runs all commands with contexts of an administrator and a developer for
// one worker. The developer may not read the UID of the cluster, and uses the same address or
// another one. There is always one Job with one mirror.
func TestTwoUsersOfOneCluster(t *testing.T) {
	// If Kueue is served, its developers may not read all of its objects.
	serving(t, "no others", management, worker1)
	const ns = "two-users"
	origin(t, ns, "train", fixture.RunsFor("1h"))
	createJobs(t, management, fixture.New(ns, "idle", fixture.ManagedBy("flows.example.com/runner")))
	developers(t, ns, management, worker1)
	k := playKubelet(t, worker1, ns)
	alone := kubeconfigWith(t, "management=management", "a-dev=worker-1 developer")
	both := kubeconfigWith(t, "management=management", "mgmt-dev=management developer", "a-dev=worker-1 developer", "b-far=worker-1 elsewhere", "worker-1=worker-1")
	here := []string{"-n", ns, "--context", management}

	// Created by a user who cannot identify the worker, resumed by a user who can, and vice versa.
	succeeds(t, append([]string{"dispatch", "train", alone, "--to", "a-dev", "--detach-after-start"}, here...)...)
	mirror := jobOf(t, worker1, ns, "train")
	marked := func(cluster string) {
		t.Helper()
		mark := jobOf(t, management, ns, "train").Annotations[delegation.MirrorAnnotation]
		assert.Assert(t, strings.HasPrefix(mark, cluster) && strings.HasSuffix(mark, "/"+ns+"/train/"+string(mirror.UID)), mark)
	}
	marked("unknown+")
	identity, err := client(t, worker1).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	assert.NilError(t, err)
	for _, to := range []string{"b-far", "worker-1", "a-dev", "b-far"} {
		succeeds(t, append([]string{"dispatch", "train", both, "--to", to, "--detach-after-start"}, here...)...)
		assert.Equal(t, jobOf(t, worker1, ns, "train").UID, mirror.UID)
		if to == "b-far" {
			continue
		}
		marked(string(identity.UID))
	}

	out, _ := succeeds(t, "ls", both, "-n", ns, "--all-contexts", "--mirrors", "-o", "json")
	assert.DeepEqual(t, listed(t, out, "train"), map[string]int{string(jobOf(t, management, ns, "train").UID): 1, string(mirror.UID): 1})
	assert.DeepEqual(t, findings(t, both, ns), []string{"JM014 idle", "JM201 train"})
	out, _ = succeeds(t, "trace", "train", both, "-n", ns, "-o", "json")
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(out), &trace))
	assert.Equal(t, len(trace.Mirrors), 1)
	assert.Equal(t, trace.Mirrors[0].UID, string(mirror.UID))
	assert.Equal(t, len(trace.Errors), 0)
	pod := k.pods(ns, "train", 1)[0]
	k.write(pod, "one\n")
	out, _ = logsOf(t, 0, "train", both, "-n", ns)
	assert.Equal(t, out, "one\n")

	dir := filepath.Join(t.TempDir(), "snapshot")
	_, stderr, code := run(t, "snapshot", dir, both, "-n", ns, "--all-contexts")
	// b-far has another certificate authority, so that equal UIDs do not make it the same cluster.
	assert.Equal(t, code, 4, stderr)
	assert.Assert(t, contains(stderr, "a-dev reaches the same cluster as worker-1", "context \"b-far\": cannot read namespaces"), stderr)
	out, _ = succeeds(t, "ls", "-n", ns, "--from", dir, "--mirrors", "-o", "json")
	assert.Equal(t, len(listed(t, out, "train")), 2)
	assert.Equal(t, listed(t, out, "train")[string(mirror.UID)], 1)
	out, _ = succeeds(t, "recreate", "idle", both, "-n", ns, "--context", "mgmt-dev", "--managed-by", "example.com/other", "--dry-run=server")
	assert.Assert(t, contains(out, "+  managedBy: example.com/other"), out)

	// Another worker that cannot be identified either: nothing counts as gone.
	_, err = client(t, worker2).CoreV1().Namespaces().Create(t.Context(), namespaceNamed(ns), metav1.CreateOptions{})
	assert.NilError(t, err)
	developers(t, ns, worker2)
	lost := kubeconfigWith(t, "management=management", "c-other=worker-2 developer")
	before := jobOf(t, management, ns, "train")
	_, stderr, code = run(t, append([]string{"dispatch", "train", lost, "--to", "c-other"}, here...)...)
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "is already dispatched to "+ns+"/train", "No context is proven to reach that cluster (asked: ") && !contains(stderr, "new-mirror") && !contains(stderr, "deleted"), stderr)
	_, stderr, code = run(t, append([]string{"cancel", "--yes", "train", lost}, here...)...)
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "may have a mirror that was not found; nothing was changed", "which no context is proven to reach"), stderr)
	assert.Equal(t, jobOf(t, management, ns, "train").ResourceVersion, before.ResourceVersion)
	_, stderr = logsOf(t, 1, "train", lost, "-n", ns, "--context", management)
	assert.Assert(t, contains(stderr, "on another cluster, in a context that was not selected"), stderr)

	succeeds(t, append([]string{"cancel", "--yes", "train", both}, here...)...)
	eventuallyJob(t, worker1, ns, "train", isGone)
}

// TestDeveloperOnly checks the same if the only context of the worker is that of the developer.
func TestDeveloperOnly(t *testing.T) {
	t.Parallel()
	const ns = "one-user"
	origin(t, ns, "train", fixture.RunsFor("1h"))
	developers(t, ns, management, worker1)
	k := playKubelet(t, worker1, ns)
	alone := kubeconfigWith(t, "management=management developer", "a-dev=worker-1 developer")
	here := []string{"-n", ns, "--context", management}
	for range 2 {
		succeeds(t, append([]string{"dispatch", "train", alone, "--to", "a-dev", "--detach-after-start"}, here...)...)
	}
	mirror := jobOf(t, worker1, ns, "train")
	out, _ := succeeds(t, "ls", alone, "-n", ns, "--all-contexts", "--mirrors", "-o", "json")
	assert.DeepEqual(t, listed(t, out, "train"), map[string]int{string(jobOf(t, management, ns, "train").UID): 1, string(mirror.UID): 1})
	pod := k.pods(ns, "train", 1)[0]
	k.write(pod, "one\n")
	out, _ = logsOf(t, 0, "train", alone, "-n", ns)
	assert.Equal(t, out, "one\n")
	out, _, code := run(t, "trace", "train", alone, "-n", ns)
	assert.Equal(t, code, 0, out)
	assert.Assert(t, contains(out, "running on a-dev"), out)

	// The address of the worker is enough to know that its mirror was deleted.
	deletes(t, worker1, ns, "train")
	eventuallyJob(t, worker1, ns, "train", isGone)
	_, stderr, code := run(t, append([]string{"dispatch", "train", alone, "--to", "a-dev"}, here...)...)
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "was deleted by another client"), stderr)
	succeeds(t, append([]string{"cancel", "--yes", "train", alone}, here...)...)
	assert.Equal(t, jobOf(t, management, ns, "train").Status.Active, int32(0))
}
