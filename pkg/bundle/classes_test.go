package bundle_test

import (
	"context"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestClassesAreRecorded checks that a snapshot has the classes that a Job may name, and the default
// priority.
func TestClassesAreRecorded(t *testing.T) {
	original := one(t, "  namespace: default\n", kubeSystem+
		`- {apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: urgent}, value: 300}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 200}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 100, globalDefault: true}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: low}, value: 50, globalDefault: true}
- {apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, handler: kata, overhead: {podFixed: {cpu: 250m}}}
`)
	all := fleet.Options{AllNamespaces: true}
	f := clusters(t, original, all)
	_, kept := again(t, original, f, bundle.Options{AllNamespaces: true})
	for name, tt := range map[string]struct {
		names    read.ClassNames
		priority int32
		missing  string
	}{
		"a WorkloadPriorityClass goes first": {read.ClassNames{WorkloadPriority: "urgent", Priority: "high"}, 300, ""},
		"a PriorityClass":                    {read.ClassNames{Priority: "high"}, 200, ""},
		"the lowest default":                 {read.ClassNames{}, 50, ""},
		"a class that does not exist":        {read.ClassNames{Priority: "none"}, 0, "PriorityClass none"},
	} {
		t.Run(name, func(t *testing.T) {
			class := read.Classes(t.Context(), clusters(t, kept, all), inSnapshot(tt.names))["a"]
			assert.Equal(t, class.Priority, tt.priority)
			assert.Equal(t, class.PriorityUnread, "")
			assert.Equal(t, strings.TrimSpace(class.Missing.Kind+" "+class.Missing.Name), tt.missing)
		})
	}
	class := read.Classes(t.Context(), clusters(t, kept, all), read.ClassNames{Runtime: "kata"})["a"]
	assert.Equal(t, class.Runtime.Overhead.PodFixed.Cpu().String(), "250m")
	class = read.Classes(t.Context(), clusters(t, kept, all), inSnapshot(read.ClassNames{Runtime: "none"}))["a"]
	assert.Equal(t, class.MissingForPods.Kind+" "+class.MissingForPods.Name, "RuntimeClass none")
}

// TestDefaultClass checks that the WorkloadPriorityClass with the name default counts for a new Job, if
// its Kueue may name it: since 0.20, which serves one version of its API.
func TestDefaultClass(t *testing.T) {
	const classes = `- {apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: default}, value: 700}
- {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 200}
`
	for name, tt := range map[string]struct {
		served   string
		names    read.ClassNames
		priority int32
		missing  string
	}{
		"a new Job":                      {"", read.ClassNames{MayGetDefault: true}, 700, ""},
		"it precedes a PriorityClass":    {"", read.ClassNames{Priority: "high", MayGetDefault: true}, 700, ""},
		"a PriorityClass does not exist": {"", read.ClassNames{Priority: "none", MayGetDefault: true}, 700, "none"},
		"tried without it":               {"", read.ClassNames{Priority: "high"}, 200, ""},
		"an older Kueue":                 {"  served: [kueue.x-k8s.io/v1beta1, kueue.x-k8s.io/v1beta2]\n", read.ClassNames{Priority: "high", MayGetDefault: true}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := one(t, "  namespace: default\n"+tt.served, kubeSystem+classes)
			class := read.Classes(t.Context(), clusters(t, b, fleet.Options{AllNamespaces: true}), tt.names)["a"]
			assert.Equal(t, class.Priority, tt.priority, class.PriorityUnread)
			assert.Equal(t, class.MissingForPods.Name, tt.missing)
		})
	}
}

// TestDefaultPriorityIsUnread checks that users who may not list PriorityClasses learn that the
// default is unknown. An older snapshot lacks PriorityClasses, and counts as without a default.
func TestDefaultPriorityIsUnread(t *testing.T) {
	forbidden := one(t, "  unread:\n  - resource: priorityclasses.scheduling.k8s.io\n    status: {code: 403, reason: Forbidden, message: not for you}\n  served: [scheduling.k8s.io/v1]\n", kubeSystem)
	unread := read.Classes(t.Context(), clusters(t, forbidden, fleet.Options{}), read.ClassNames{})["a"].PriorityUnread
	assert.Assert(t, strings.HasPrefix(unread, "the global default of PriorityClasses could not be read: "), unread)
	older := one(t, "", kubeSystem)
	assert.Equal(t, read.Classes(t.Context(), clusters(t, older, fleet.Options{}), read.ClassNames{})["a"].PriorityUnread, "")
}

// TestClassesOfUnreached checks that the classes of a cluster that does not answer are unknown, not absent.
func TestClassesOfUnreached(t *testing.T) {
	f := clusters(t, one(t, "", kubeSystem), fleet.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	class := read.Classes(ctx, f, read.ClassNames{Runtime: "kata"})["a"]
	assert.Assert(t, class.PriorityUnread != "" && class.RuntimeUnread != "", "%+v", class)
}

// TestProfileCredentialsAreRemoved checks that a snapshot keeps the server of a ClusterProfile, and no
// credentials for plugins.
func TestProfileCredentialsAreRemoved(t *testing.T) {
	original := one(t, "  namespace: default\n", kubeSystem+
		`- {apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: west}, spec: {clusterSource: {clusterProfileRef: {name: west}}}}
- apiVersion: multicluster.x-k8s.io/v1alpha1
  kind: ClusterProfile
  metadata: {name: west, namespace: kueue-system}
  status: {accessProviders: [{name: oidc, cluster: {server: "https://west:6443", proxy-url: "http://user:PASSWORD@proxy", extensions: [{name: exec, extension: {token: PASSWORD}}]}}]}
`)
	dir, _ := again(t, original, clusters(t, original, fleet.Options{AllNamespaces: true}), bundle.Options{AllNamespaces: true})
	text := texts(t, dir)["a.yaml"]
	assert.Assert(t, strings.Contains(text, "https://west:6443"), text)
	assert.Assert(t, !strings.Contains(text, "PASSWORD"), text)
}

// inSnapshot returns names that are read from a snapshot.
func inSnapshot(names read.ClassNames) read.ClassNames {
	names.InSnapshot = true
	return names
}
