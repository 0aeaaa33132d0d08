package bundle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// rows returns the kinds of the table that one cluster can serve: the first version of each kind.
func rows() []delegation.Kind {
	var found []delegation.Kind
	for _, k := range delegation.Kinds() {
		if !slices.ContainsFunc(found, func(f delegation.Kind) bool {
			return f.Resource.GroupResource() == k.Resource.GroupResource()
		}) {
			found = append(found, k)
		}
	}
	return found
}

// unlisted returns kinds that are not in the table, with all facts that a schema can have.
func unlisted() []delegation.Kind {
	widget := delegation.DiscoveredKind(schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"}, "widgets", []string{"wd"}, []string{"spec", "managedBy"})
	widget.Reserved = "example.com/widget-controller"
	index := delegation.DiscoveredKind(schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Index"}, "indices", nil, []string{"spec", "managedBy"})
	index.Allowed, index.Change = []delegation.Owner{"a.example/b", delegation.MultiKueue}, delegation.WhileSet
	gadget := delegation.DiscoveredKind(schema.GroupVersionKind{Group: "example.com", Version: "v1alpha1", Kind: "Gadget"}, "gadgets", nil, []string{"spec", "runPolicy", "managedBy"})
	gadget.Reserved, gadget.Defaulted, gadget.Change = "example.com/gadget-controller", true, delegation.Never
	return []delegation.Kind{widget, index, gadget}
}

// withKinds returns a snapshot of one context with objects of all kinds in all states.
func withKinds(t *testing.T) *bundle.Bundle {
	t.Helper()
	var served []bundle.ServedKind
	for _, k := range append(rows(), unlisted()...) {
		if k.IsJob() || k.Name == "pod" {
			continue
		}
		served = append(served, bundle.ServedKind{
			APIVersion: k.Resource.GroupVersion().String(), Kind: k.Kind, Plural: k.Resource.Resource, ShortNames: k.ShortNames,
			ManagedBy: strings.Join(k.ManagedBy, "."), Allowed: k.Allowed, Reserved: k.Reserved, Defaulted: k.Defaulted, Change: k.Change,
		})
	}
	fields, err := yaml.Marshal(map[string]any{"kinds": served})
	assert.NilError(t, err)
	files, err := filepath.Glob("../delegation/testdata/kinds/*/*.yaml")
	assert.NilError(t, err)
	items := kubeSystem + "- {apiVersion: example.com/v1beta1, kind: Index, metadata: {name: a, namespace: research}, spec: {managedBy: a.example/b}}\n"
	for _, file := range files {
		if folder := filepath.Base(filepath.Dir(file)); folder == "mpijob.v1" {
			continue
		}
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		var o map[string]any
		assert.NilError(t, yaml.Unmarshal(text, &o))
		metadata, ok := o["metadata"].(map[string]any)
		assert.Assert(t, ok)
		metadata["name"] = strings.TrimSuffix(filepath.Base(file), ".yaml")
		text, err = json.Marshal(o)
		assert.NilError(t, err)
		items += "- " + string(text) + "\n"
	}
	return one(t, "  "+strings.ReplaceAll(strings.TrimSpace(string(fields)), "\n", "\n  ")+"\n", items)
}

// everyKind are the names of all kinds, for read.Served.
var everyKind = []string{read.AllKinds, "pod", "statefulset", "leaderworkerset"}

// served returns the kinds that the only cluster of a snapshot serves.
func served(t *testing.T, b *bundle.Bundle) ([]delegation.Kind, error) {
	t.Helper()
	return read.Served(t.Context(), clusters(t, b, fleet.Options{}).Clusters()[0], everyKind)
}

// TestKindsAreServed checks that discovery and OpenAPI describe the kinds of a snapshot as a
// cluster would.
func TestKindsAreServed(t *testing.T) {
	kinds, err := served(t, withKinds(t))
	assert.NilError(t, err)
	assert.DeepEqual(t, kindNamesOf(kinds), kindNamesOf(append(rows(), unlisted()...)))
	for _, want := range append(rows(), unlisted()...) {
		i := slices.IndexFunc(kinds, func(k delegation.Kind) bool { return k.Resource == want.Resource })
		assert.DeepEqual(t, kinds[i], want)
	}
}

func kindNamesOf(kinds []delegation.Kind) []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.Resource.String())
	}
	slices.Sort(names)
	return names
}

// objectsOf returns the objects of all kinds that inspect lists from a snapshot, and the errors
// of kinds that it cannot list.
func objectsOf(t *testing.T, b *bundle.Bundle) (objects, errs []string) {
	t.Helper()
	c := clusters(t, b, fleet.Options{AllNamespaces: true}).Clusters()[0]
	err := read.List(t.Context(), c, read.Query{AllNamespaces: true, Kinds: everyKind}, func(j inspect.Job) {
		text, err := json.Marshal(j)
		assert.NilError(t, err)
		objects = append(objects, string(text))
	})
	var partial *read.ListError
	if errors.As(err, &partial) {
		for _, err := range partial.All() {
			errs = append(errs, err.Error())
		}
	} else {
		assert.NilError(t, err)
	}
	slices.Sort(objects)
	return objects, errs
}

// TestKindsRoundTrip checks that reading objects of all kinds and reading their snapshot returns
// the same, and that a snapshot of a snapshot is equal to it.
func TestKindsRoundTrip(t *testing.T) {
	b := withKinds(t)
	f := clusters(t, b, fleet.Options{AllNamespaces: true})
	first, back := again(t, b, f, bundle.Options{AllNamespaces: true})
	want, errs := objectsOf(t, b)
	assert.Equal(t, len(errs), 0, "%s", errs)
	assert.Assert(t, len(want) > 100, "there are only %d", len(want))
	got, errs := objectsOf(t, back)
	assert.Equal(t, len(errs), 0, "%s", errs)
	assert.DeepEqual(t, got, want)
	kinds, err := served(t, back)
	assert.NilError(t, err)
	assert.DeepEqual(t, kindNamesOf(kinds), kindNamesOf(append(rows(), unlisted()...)))
	second, _ := again(t, back, clusters(t, back, fleet.Options{AllNamespaces: true}), bundle.Options{AllNamespaces: true})
	assert.DeepEqual(t, texts(t, first), texts(t, second))
}

// TestSomeKinds checks that a snapshot reports omitted kinds as not recorded, and not as empty.
func TestSomeKinds(t *testing.T) {
	b := withKinds(t)
	dir, back := again(t, b, clusters(t, b, fleet.Options{AllNamespaces: true}), bundle.Options{AllNamespaces: true, Kinds: []string{"JobSets", "indices.example.com"}})
	text := texts(t, dir)["a.yaml"]
	assert.Equal(t, strings.Count(text, "  kind: JobSet\n"), 8)
	assert.Equal(t, strings.Count(text, "  kind: Index\n"), 1)
	assert.Equal(t, strings.Count(text, "  kind: RayJob\n"), 0)
	kinds, err := served(t, back)
	assert.NilError(t, err)
	assert.DeepEqual(t, kindNamesOf(kinds), kindNamesOf(append(rows(), unlisted()...)))
	objects, errs := objectsOf(t, back)
	assert.Equal(t, len(objects), 8+1+strings.Count(text, "  kind: Job\n")+strings.Count(text, "  kind: Pod\n"), "%s", objects)
	assert.Equal(t, len(errs), len(kinds)-4, "all but Job, Pod, JobSet and Index: %s", errs)
	assert.Assert(t, slices.ContainsFunc(errs, func(e string) bool {
		return strings.Contains(e, "the snapshot was taken without rayjobs.ray.io. Take it again with --kinds all")
	}), "%s", errs)
	// Readers of Jobs are not affected.
	assert.Assert(t, !strings.Contains(ls(t, clusters(t, back, fleet.Options{})), "taken without"))
}

// TestPodsOfKinds checks that Pods with the label of any kind are recorded.
func TestPodsOfKinds(t *testing.T) {
	pod := func(name, label string) string {
		return fmt.Sprintf("- {apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default, labels: {%s: x}}}\n", name, label)
	}
	b := one(t, `  kinds:
  - {apiVersion: ray.io/v1, kind: RayCluster, plural: rayclusters, managedBy: spec.managedBy}
  - {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, plural: jobsets, managedBy: spec.managedBy}
`, kubeSystem+"- {apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a, namespace: default}}\n"+
		pod("of-ray", "ray.io/cluster")+pod("of-job", "batch.kubernetes.io/job-name")+pod("of-none", "app")+
		// There is no JobSet.
		pod("of-jobset", "jobset.sigs.k8s.io/jobset-name")+pod("queued", "kueue.x-k8s.io/queue-name")+`
- {apiVersion: v1, kind: Event, metadata: {name: e1, namespace: default}, involvedObject: {kind: RayCluster, name: a}}
- {apiVersion: v1, kind: Event, metadata: {name: e2, namespace: default}, involvedObject: {kind: Deployment, name: a}}
`)
	_, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
	_, value := ask(t, back, http.MethodGet, "/api/v1/pods")
	assert.Equal(t, names(value), "default/of-job default/of-ray default/queued")
	_, value = ask(t, back, http.MethodGet, "/api/v1/events")
	assert.Equal(t, names(value), "default/e1")
}

// TestEmbeddedSecrets checks that Secrets inside an object are not recorded, and that Ray's other
// settings are redacted together with environment variables.
func TestEmbeddedSecrets(t *testing.T) {
	b := one(t, `  kinds:
  - {apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, plural: appwrappers, managedBy: spec.managedBy}
  - {apiVersion: ray.io/v1, kind: RayJob, plural: rayjobs, managedBy: spec.managedBy}
  - {apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, plural: trainjobs, managedBy: spec.managedBy}
`, kubeSystem+`
- apiVersion: workload.codeflare.dev/v1beta2
  kind: AppWrapper
  metadata: {name: a, namespace: default, annotations: {kubectl.kubernetes.io/last-applied-configuration: PASSWORD, note: kept}}
  spec: {components: [{template: {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: PASSWORD}, stringData: {a: PASSWORD}}}]}
- apiVersion: ray.io/v1
  kind: RayJob
  metadata: {name: a, namespace: default}
  spec:
    runtimeEnvYAML: "env_vars: {A: WORD}"
    rayClusterSpec: {gcsFaultToleranceOptions: {redisPassword: {value: WORD}}, headGroupSpec: {rayStartParams: {redis-password: WORD, num-cpus: "1"}}}
- apiVersion: trainer.kubeflow.org/v1alpha1
  kind: TrainJob
  metadata: {name: a, namespace: default}
  spec: {trainer: {env: [{name: A, value: WORD}]}, initializer: {model: {env: [{name: B, valueFrom: {secretKeyRef: {name: kept, key: k}}}]}}}
`)
	f := clusters(t, b, fleet.Options{})
	dir, _ := again(t, b, f, bundle.Options{})
	text := texts(t, dir)["a.yaml"]
	assert.Equal(t, strings.Count(text, "PASSWORD"), 0)
	assert.Equal(t, strings.Count(text, "WORD"), 4)
	assert.Equal(t, strings.Count(text, "kept"), 2)
	dir, _ = again(t, b, f, bundle.Options{Redact: true})
	text = texts(t, dir)["a.yaml"]
	assert.Equal(t, strings.Count(text, "WORD"), 0)
	assert.Equal(t, strings.Count(text, "REDACTED"), 4)
	assert.Equal(t, strings.Count(text, "kept"), 1)
}

// TestUnknownKinds checks that a snapshot records a failed list of kinds, and that a failing
// group does not affect the others.
func TestUnknownKinds(t *testing.T) {
	status := "status: {code: 503, reason: ServiceUnavailable, message: %s}}\n"
	for unread, want := range map[string]string{
		"*.*":                  "cannot find out which kinds it serves: ",
		"*.broken.example.com": "cannot find out which kinds it serves: broken.example.com/v1: ",
		"widgets.example.com":  "",
		"*.other.example.com":  "",
	} {
		t.Run(unread, func(t *testing.T) {
			fields := "  served: [broken.example.com/v1]\n  unread:\n  - {resource: \"" + unread + "\", " + fmt.Sprintf(status, "not now") +
				"  kinds:\n  - {apiVersion: example.com/v1beta1, kind: Widget, plural: widgets, managedBy: spec.managedBy}\n"
			b := one(t, fields, kubeSystem)
			kinds, err := served(t, b)
			_, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
			kindsBack, errBack := served(t, back)
			assert.DeepEqual(t, kindNamesOf(kindsBack), kindNamesOf(kinds))
			if want == "" {
				assert.NilError(t, err)
				assert.NilError(t, errBack)
				return
			}
			assert.ErrorContains(t, err, want)
			assert.ErrorContains(t, errBack, want)
			assert.Equal(t, len(kinds) > 0, unread != "*.*")
		})
	}
}

// TestGroupsOfKinds checks that a kind counts as not served only if the snapshot records which kinds are.
func TestGroupsOfKinds(t *testing.T) {
	const kinds = "  kinds:\n  - {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, plural: jobsets, managedBy: spec.managedBy}\n"
	for fields, want := range map[string]string{
		kinds: "",
		"":    "the snapshot lacks the list of kinds; record a new one with the snapshot command",
		"  unread:\n  - {resource: \"*.*\", status: {code: 503, reason: ServiceUnavailable, message: not now}}\n" + kinds: "not now",
	} {
		c := clusters(t, one(t, fields, kubeSystem), fleet.Options{}).Clusters()[0]
		versions, err := c.Versions(t.Context(), "ray.io")
		assert.Equal(t, len(versions), 0)
		if want == "" {
			assert.NilError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
		versions, err = c.Versions(t.Context(), "jobset.x-k8s.io")
		assert.Equal(t, len(versions) > 0, fields != "", "%v", err)
	}
}

// TestOutdatedKinds checks that a kind without the field is served as it was.
func TestOutdatedKinds(t *testing.T) {
	b := one(t, `  kinds:
  - {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, plural: jobsets}
  - {apiVersion: ray.io/v1alpha1, kind: RayJob, plural: rayjobs}
`, kubeSystem+"- {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a, namespace: default}}\n")
	list := read.Kinds(t.Context(), clusters(t, b, fleet.Options{}), read.Query{AllNamespaces: true})
	dir, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{})
	listBack := read.Kinds(t.Context(), clusters(t, back, fleet.Options{}), read.Query{AllNamespaces: true})
	assert.DeepEqual(t, listBack, list)
	var found []string
	for _, k := range list.Items {
		found = append(found, fmt.Sprint(k.APIVersion, " ", k.Resource, " ", k.ManagedBy))
	}
	assert.DeepEqual(t, found, []string{"batch/v1 jobs.batch spec.managedBy", "jobset.x-k8s.io/v1alpha2 jobsets.jobset.x-k8s.io ", "ray.io/v1alpha1 rayjobs.ray.io "})
	assert.Equal(t, strings.Count(texts(t, dir)["a.yaml"], "kind: JobSet"), 1)
}

// TestBadKinds checks the errors for incomplete kinds.
func TestBadKinds(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: a/b/c, kind: A, plural: as}": "an entry of kinds: unexpected GroupVersion string: a/b/c",
		"{apiVersion: v1, kind: A}":                "an entry of kinds has no apiVersion, kind or plural",
		"{apiVersion: v1, plural: as}":             "an entry of kinds has no apiVersion, kind or plural",
		"{kind: A, plural: as}":                    "an entry of kinds has no apiVersion, kind or plural",
	} {
		_, err := bundle.Open(newDirectory(t, map[string]string{
			"snapshot.yaml": header + "contexts:\n- name: a\n  server: https://a.example\n  file: a.yaml\n  kinds: [" + text + "]\n", "a.yaml": list,
		}))
		assert.ErrorContains(t, err, want)
	}
}
