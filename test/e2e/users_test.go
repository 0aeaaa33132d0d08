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

// developer may do everything in one namespace of a cluster, and nothing else: not even
// read which cluster it is.
const developer = "developer"

// developers makes that user on the clusters, and waits until it may.
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

// kubeconfigWith is a flag for a kubeconfig of contexts as "name=cluster", as
// "name=cluster developer", and as "name=cluster elsewhere" for the developer by another
// address.
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

// anotherAddress is a cluster by another address, with another authority, at which
// everybody is the developer.
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

// succeeds runs the plugin, which has to end well.
func succeeds(t *testing.T, args ...string) (out, told string) {
	t.Helper()
	out, told, code := run(t, args...)
	assert.Equal(t, code, 0, "%s%s", out, told)
	return out, told
}

// listed counts how often Jobs of a name are listed, by their uids.
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

// findings are the codes that check finds in a namespace.
func findings(t *testing.T, kubeconfig, ns string) (codes []string) {
	t.Helper()
	out, told, code := run(t, "check", kubeconfig, "-n", ns, "--grace", "0s", "--fail-on", "none", "-o", "json")
	assert.Equal(t, code, 0, told)
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	for _, f := range list.Items {
		codes = append(codes, f.Code+" "+f.Name)
	}
	return codes
}

// TestTwoUsersOfOneCluster goes through all commands with contexts of an administrator
// and of a developer for one worker, who may not read which cluster that is, by the same
// address and by another one: one Job with one mirror stays that.
func TestTwoUsersOfOneCluster(t *testing.T) {
	// Where Kueue is served, its developers may not read all of that.
	serving(t, "no others", management, worker1)
	const ns = "two-users"
	origin(t, ns, "train", fixture.RunsFor("1h"))
	createJobs(t, management, fixture.New(ns, "idle", fixture.ManagedBy("flows.example.com/runner")))
	developers(t, ns, management, worker1)
	k := playKubelet(t, worker1, ns)
	alone := kubeconfigWith(t, "management=management", "a-dev=worker-1 developer")
	both := kubeconfigWith(t, "management=management", "mgmt-dev=management developer", "a-dev=worker-1 developer", "b-far=worker-1 elsewhere", "worker-1=worker-1")
	here := []string{"-n", ns, "--context", management}

	// Made by who may not tell what the worker is, and gone on with by who may, and back.
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
	_, told, code := run(t, "snapshot", dir, both, "-n", ns, "--all-contexts")
	// b-far has another certificate authority, so that equal UIDs do not make it the same cluster.
	assert.Equal(t, code, 4, told)
	assert.Assert(t, contains(told, "worker-1 reaches the same cluster as a-dev", "context \"b-far\": cannot read namespaces"), told)
	out, _ = succeeds(t, "ls", "-n", ns, "--from", dir, "--mirrors", "-o", "json")
	assert.Equal(t, len(listed(t, out, "train")), 2)
	assert.Equal(t, listed(t, out, "train")[string(mirror.UID)], 1)
	out, _ = succeeds(t, "recreate", "idle", both, "-n", ns, "--context", "mgmt-dev", "--managed-by", "example.com/other", "--dry-run=server")
	assert.Assert(t, contains(out, "+  managedBy: example.com/other"), out)

	// Another worker, of which nobody knows which it is either: nothing is said to be gone.
	_, err = client(t, worker2).CoreV1().Namespaces().Create(t.Context(), namespaceNamed(ns), metav1.CreateOptions{})
	assert.NilError(t, err)
	developers(t, ns, worker2)
	lost := kubeconfigWith(t, "management=management", "c-other=worker-2 developer")
	before := jobOf(t, management, ns, "train")
	_, told, code = run(t, append([]string{"dispatch", "train", lost, "--to", "c-other"}, here...)...)
	assert.Equal(t, code, 1, told)
	assert.Assert(t, contains(told, "is already dispatched to "+ns+"/train", "No context is proven to reach that cluster (asked: ") && !contains(told, "new-mirror") && !contains(told, "deleted"), told)
	_, told, code = run(t, append([]string{"cancel", "train", lost}, here...)...)
	assert.Equal(t, code, 1, told)
	assert.Assert(t, contains(told, "may have a mirror where it was not searched; nothing was changed", "which no context is proven to reach"), told)
	assert.Equal(t, jobOf(t, management, ns, "train").ResourceVersion, before.ResourceVersion)
	_, told = logsOf(t, 1, "train", lost, "-n", ns, "--context", management)
	assert.Assert(t, contains(told, "which was not read"), told)

	succeeds(t, append([]string{"cancel", "train", both}, here...)...)
	eventuallyJob(t, worker1, ns, "train", isGone)
}

// TestTheDeveloperAlone: the same where there is no other context for the worker than
// the developer's.
func TestTheDeveloperAlone(t *testing.T) {
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

	// Once its mirror is deleted, that is known by the worker's address.
	deletes(t, worker1, ns, "train")
	eventuallyJob(t, worker1, ns, "train", isGone)
	_, told, code := run(t, append([]string{"dispatch", "train", alone, "--to", "a-dev"}, here...)...)
	assert.Equal(t, code, 1, told)
	assert.Assert(t, contains(told, "was deleted by somebody else"), told)
	succeeds(t, append([]string{"cancel", "train", alone}, here...)...)
	assert.Equal(t, jobOf(t, management, ns, "train").Status.Active, int32(0))
}
