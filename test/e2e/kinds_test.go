package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

// kindsFleet are the management cluster and a worker that serve all kinds. The management cluster
// has one object of each kind, named like the kind, and objects that must not be found.
type kindsFleet struct {
	ns      string
	samples []kinds.Sample
	// origins and mirrors are the objects that were created, by their names.
	origins, mirrors map[string]*unstructured.Unstructured
}

// TestKinds has clusters serve all kinds that can be delegated.
func TestKinds(t *testing.T) {
	serving(t, alone, all...)
	for cluster, parts := range map[string][]kinds.Part{
		management: {kinds.Known, kinds.Others, kinds.Decoys}, worker1: {kinds.Known, kinds.Others}, worker2: {kinds.Old},
	} {
		config, err := set.Config(cluster)
		assert.NilError(t, err)
		t.Cleanup(func() { assert.NilError(t, kinds.Remove(context.Background(), config, parts...)) })
		assert.NilError(t, kinds.Install(t.Context(), config, parts...))
	}
	t.Run("found", kindsAreFound)
	t.Run("found in old versions", oldKindsAreFound)
	t.Run("from unclaimed to the end", kindsFromUnclaimedToTheEnd)
	t.Run("without the right to list", kindsThatMayNotBeListed)
	t.Run("without managedBy", kindsWithoutManagedBy)
	t.Run("without managedBy on the worker only", kindsWithoutManagedByThere)
	t.Run("in a snapshot", kindsInABundle)
}

// playKinds creates one origin of each wanted kind, in a namespace that both clusters have.
func playKinds(t *testing.T, ns string, wanted func(*kinds.Sample) bool) *kindsFleet {
	t.Helper()
	f := &kindsFleet{ns: ns, origins: map[string]*unstructured.Unstructured{}, mirrors: map[string]*unstructured.Unstructured{}}
	for _, cluster := range []string{management, worker1} {
		_, err := client(t, cluster).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		assert.NilError(t, err)
	}
	samples, err := kinds.Samples(os.DirFS("../../pkg/delegation/testdata/kinds"))
	assert.NilError(t, err)
	f.samples = slices.DeleteFunc(samples, func(s kinds.Sample) bool { return !wanted(&s) })
	for i := range f.samples {
		s := &f.samples[i]
		o := s.New(ns, s.Kind.Name)
		if s.Kind.Template {
			// It creates nothing while the test runs.
			assert.NilError(t, unstructured.SetNestedField(o.Object, true, "spec", "suspend"))
		}
		f.origins[s.Kind.Name] = f.create(t, management, s, o)
	}
	return f
}

func (f *kindsFleet) create(t *testing.T, cluster string, s *kinds.Sample, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := dynamicClient(t, cluster).Resource(s.Kind.Resource).Namespace(f.ns).Create(t.Context(), o, metav1.CreateOptions{})
	assert.NilError(t, err, "%s on %s", s.Kind, cluster)
	return created
}

// mirror creates the mirrors of all origins on the worker, as MultiKueue would.
func (f *kindsFleet) mirror(t *testing.T) {
	t.Helper()
	for i := range f.samples {
		if s := &f.samples[i]; !s.Kind.Template {
			f.mirrors[s.Kind.Name] = f.create(t, worker1, s, s.Mirror(f.origins[s.Kind.Name]))
		}
	}
}

// enter sets the status of the pairs whose kind has a state, as their controllers would, and
// returns their kinds. The built-in controller of Jobs runs here, and is tested elsewhere.
func (f *kindsFleet) enter(t *testing.T, state string) (entered []string) {
	t.Helper()
	for i := range f.samples {
		s := &f.samples[i]
		if s.Kind.IsJob() || s.Kind.Template || !slices.Contains(s.States(), state) {
			continue
		}
		assert.NilError(t, s.Enter(t.Context(), dynamicClient(t, worker1), f.mirrors[s.Kind.Name], state))
		assert.NilError(t, s.Enter(t.Context(), dynamicClient(t, management), f.origins[s.Kind.Name], state))
		entered = append(entered, s.Kind.Name)
	}
	return entered
}

// delegatable reports whether a kind can be delegated.
func delegatable(s *kinds.Sample) bool { return !s.Kind.IsUnmanaged() }

const bothContexts = "--contexts=" + management + "," + worker1

// kindsAreFound checks that kinds lists all kinds that can be delegated, and no others.
func kindsAreFound(t *testing.T) {
	f := playKinds(t, "kinds-found", delegatable)
	out, stderr, code := run(t, "kinds", "-n", f.ns, "-o", "json", "--context", management)
	assert.Equal(t, code, 0, "%s", stderr)
	var list inspect.KindList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))

	want := map[string]inspect.ServedKind{}
	for i := range f.samples {
		k := f.samples[i].Kind
		want[k.Name] = inspect.ServedKind{
			Context: management, Kind: k.Kind, APIVersion: k.Resource.GroupVersion().String(), Resource: k.Resource.GroupResource().String(),
			ManagedBy: strings.Join(k.ManagedBy, "."), Template: k.Template, Allowed: k.Allowed, Reserved: k.Reserved,
			Defaulted: k.Defaulted, Change: k.Change, Discovered: k.Discovered, Since: k.Since,
			Owners: []inspect.KindOwner{{ManagedBy: delegation.MultiKueue, Count: 1}},
		}
	}
	// These are known only from their schemas.
	widget, gadget := want["widget"], want["gadget"]
	widget.Reserved = "example.com/widget-controller"
	gadget.Reserved, gadget.Defaulted = "example.com/gadget-controller", true
	gadget.Allowed = []delegation.Owner{"example.com/gadget-controller", delegation.MultiKueue}
	want["widget"], want["gadget"] = widget, gadget

	got := map[string]inspect.ServedKind{}
	for _, k := range list.Items {
		assert.Assert(t, k.ClusterUID != "")
		k.ClusterUID = ""
		got[strings.ToLower(k.Kind)] = k
	}
	assert.DeepEqual(t, got, want)
	assert.Equal(t, len(list.Items), len(want))
	assert.Equal(t, len(list.Errors), 0)
}

// oldKindsAreFound checks that a cluster with old controllers has the kinds of their versions.
func oldKindsAreFound(t *testing.T) {
	out, stderr, code := run(t, "kinds", "-o", "json", "--context", worker2)
	assert.Equal(t, code, 0, "%s", stderr)
	var list inspect.KindList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	var got []string
	for _, k := range list.Items {
		got = append(got, k.APIVersion+" "+k.Kind+" "+k.ManagedBy+" "+k.Reserved)
	}
	assert.DeepEqual(t, got, []string{
		"batch/v1 Job spec.managedBy kubernetes.io/job-controller",
		"batch/v1 CronJob spec.jobTemplate.spec.managedBy kubernetes.io/job-controller",
		"kubeflow.org/v2alpha1 TrainJob spec.managedBy kubeflow.org/trainjob-controller",
		"kubeflow.org/v1 MPIJob spec.runPolicy.managedBy kubeflow.org/training-operator",
	})
}

// kindsFromUnclaimedToTheEnd checks that objects of every kind are listed under their owner,
// unclaimed at first. Each is paired with its mirror, and ls shows the states that their
// controllers write.
func kindsFromUnclaimedToTheEnd(t *testing.T) {
	f := playKinds(t, "kinds-states", delegatable)
	want := map[string]delegation.Status{}
	for name := range f.origins {
		want[name] = delegation.Unclaimed
	}
	want["cronjob"], want["raycronjob"] = delegation.Suspended, delegation.Suspended
	list := []string{"--kinds", "all", "-n", f.ns, "--context", management}
	jobs := eventually(t, want, list...)
	for name, j := range jobs {
		assert.Equal(t, j.ManagedBy, delegation.MultiKueue, name)
		assert.Equal(t, len(j.Mirrors), 0, name)
	}

	f.mirror(t)
	for i := range f.samples {
		k := f.samples[i].Kind
		if k.Template {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			tr := trace(t, k.Name+"/"+k.Name, "-n", f.ns, healthy)
			assert.Equal(t, tr.Origin.Context, management)
			assert.Equal(t, tr.Origin.UID, string(f.origins[k.Name].GetUID()))
			assert.Equal(t, len(tr.Mirrors), 1)
			m := tr.Mirrors[0]
			assert.Equal(t, m.Context, worker1)
			assert.Equal(t, m.UID, string(f.mirrors[k.Name].GetUID()))
			assert.Equal(t, m.ManagedBy, delegation.BuiltIn)
			assert.Assert(t, m.Relation == inspect.ByMultiKueue && m.Current, "%+v", m)
		})
	}

	// The built-in controller writes the state of a Job.
	delete(want, "job")
	for _, state := range []struct {
		name   string
		status delegation.Status
	}{{"running", delegation.Running}, {"succeeded", delegation.Complete}, {"failed", delegation.Failed}} {
		for _, name := range f.enter(t, state.name) {
			want[name] = state.status
		}
		jobs := ls(t, "--kinds", "all", "-n", f.ns, bothContexts, "--delegated")
		delete(jobs, "job")
		got := map[string]delegation.Status{}
		for name, j := range jobs {
			got[name] = j.Status
			if !j.Row().Template {
				assert.Equal(t, len(j.Mirrors), 1, name)
				assert.Equal(t, j.Mirrors[0].Context, worker1, name)
			}
		}
		assert.DeepEqual(t, got, want)
	}
}

// kindsThatMayNotBeListed checks that missing rights for one group do not affect the others.
func kindsThatMayNotBeListed(t *testing.T) {
	f := playKinds(t, "kinds-forbidden", delegatable)
	const user = "no-ray"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}}
	for _, s := range f.samples {
		if s.Kind.Resource.Group != "ray.io" {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{
				APIGroups: []string{s.Kind.Resource.Group}, Resources: []string{s.Kind.Resource.Resource}, Verbs: []string{"list"},
			})
		}
	}
	roles := client(t, management).RbacV1()
	_, err := roles.Roles(f.ns).Create(t.Context(), role, metav1.CreateOptions{})
	assert.NilError(t, err)
	_, err = roles.RoleBindings(f.ns).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)

	out, _, code := run(t, "ls", "--kinds", "all", "-n", f.ns, "-o", "json", "--context", management, "--as", user)
	assert.Equal(t, code, 4)
	var list inspect.OwnerList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	var got, want []string
	for _, g := range list.Items {
		for _, j := range g.Jobs {
			got = append(got, j.Name)
		}
	}
	for _, s := range f.samples {
		if s.Kind.Resource.Group != "ray.io" {
			want = append(want, s.Kind.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	assert.DeepEqual(t, got, want)
	for _, resource := range []string{"rayclusters.ray.io", "raycronjobs.ray.io", "rayjobs.ray.io", "rayservices.ray.io"} {
		assert.Assert(t, slices.ContainsFunc(list.Errors, func(e inspect.ContextError) bool {
			return e.Context == management && contains(e.Message, resource)
		}), "%s: %+v", resource, list.Errors)
	}
}

// kindsWithoutManagedBy checks the case that MultiKueue also moves objects of kinds without this
// field, as its labels show.
func kindsWithoutManagedBy(t *testing.T) {
	f := playKinds(t, "kinds-unmanaged", func(s *kinds.Sample) bool { return s.Kind.Name == "leaderworkerset" || s.Kind.Name == "statefulset" })
	f.mirror(t)
	for name, origin := range f.origins {
		tr := trace(t, name+"/"+name, "-n", f.ns, healthy)
		assert.Equal(t, tr.Origin.UID, string(origin.GetUID()))
		assert.Equal(t, len(tr.Mirrors), 1, name)
		assert.Equal(t, tr.Mirrors[0].UID, string(f.mirrors[name].GetUID()))
		assert.Assert(t, tr.Mirrors[0].Relation == inspect.ByMultiKueue && tr.Mirrors[0].Current, name)
	}
}

// kindsWithoutManagedByThere checks the case that a mirror has no managedBy, so a worker whose
// definitions lack the field can run it. Only the origins show its kind.
func kindsWithoutManagedByThere(t *testing.T) {
	f := playKinds(t, "kinds-fieldless", func(s *kinds.Sample) bool { return s.Kind.Name == "widget" })
	_, err := client(t, worker2).CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.ns}}, metav1.CreateOptions{})
	assert.NilError(t, err)
	mirror := f.create(t, worker2, &f.samples[0], f.samples[0].Mirror(f.origins["widget"]))
	where := []string{"-n", f.ns, "--contexts=" + management + "," + worker2}
	dir := filepath.Join(t.TempDir(), "new")
	_, stderr, code := run(t, append([]string{"snapshot", dir}, where...)...)
	assert.Equal(t, code, 0, "%s", stderr)
	for what, args := range map[string][]string{"live": where, "a snapshot": {"--from", dir}} {
		t.Run(what, func(t *testing.T) {
			for _, named := range []string{"all", "widget"} {
				jobs := ls(t, append([]string{"--kinds", named, "--delegated"}, args...)...)
				assert.Equal(t, len(jobs["widget"].Mirrors), 1, named)
				assert.Equal(t, jobs["widget"].Mirrors[0].UID, string(mirror.GetUID()))
			}
			tr := trace(t, append([]string{"widget/widget"}, args...)...)
			assert.Equal(t, len(tr.Mirrors), 1)
			assert.Equal(t, tr.Mirrors[0].UID, string(mirror.GetUID()))
		})
	}
	// Neither of them counts as a mirror.
	codes := codesOf(t, where...)
	assert.Assert(t, !slices.ContainsFunc(codes, func(code string) bool { return strings.HasSuffix(code, worker2+" Widget widget") }), "%s", codes)
	assert.DeepEqual(t, codesOf(t, "--from", dir), codes)
}

// kindsInABundle checks that commands print the same for all kinds from a snapshot.
func kindsInABundle(t *testing.T) {
	f := playKinds(t, "kinds-bundle", func(s *kinds.Sample) bool {
		return delegatable(s) && !s.Kind.IsJob() || s.Kind.Name == "leaderworkerset"
	})
	f.mirror(t)
	f.enter(t, "running")
	// No controller acts there.
	sample := f.samples[slices.IndexFunc(f.samples, func(s kinds.Sample) bool { return s.Kind.Name == "jobset" })]
	forgotten := sample.New(f.ns, "forgotten")
	assert.NilError(t, unstructured.SetNestedField(forgotten.Object, "example.com/nobody", sample.Kind.ManagedBy...))
	f.create(t, management, &sample, forgotten)
	dir := filepath.Join(t.TempDir(), "new")
	_, stderr, code := run(t, "snapshot", dir, "-n", f.ns, bothContexts)
	assert.Equal(t, code, 0, "%s", stderr)
	for _, args := range [][]string{
		{"ls", "--kinds", "all", "-o", "json"},
		{"ls", "--kinds", "lws,widgets,gadgets.example.com", "-o", "json"},
		{"kinds", "-o", "json"},
		{"trace", "rayjob/rayjob", "-o", "json"},
		{"trace", "gadget/gadget", "-o", "json"},
		{"trace", "lws/leaderworkerset", "-o", "json"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			live, stderr, code := run(t, append(args, "-n", f.ns, bothContexts)...)
			assert.Equal(t, code, 0, "%s", stderr)
			back, stderr, code := run(t, append(args, "--from", dir)...)
			assert.Equal(t, code, 0, "%s", stderr)
			assert.Equal(t, back, live)
		})
	}
	t.Run("check", func(t *testing.T) {
		live := codesOf(t, "-n", f.ns, bothContexts)
		assert.Assert(t, slices.ContainsFunc(live, func(code string) bool { return strings.HasSuffix(code, " JobSet forgotten") }), "%s", live)
		assert.DeepEqual(t, codesOf(t, "--from", dir), live)
	})
	t.Run("only some kinds", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new")
		_, stderr, code := run(t, "snapshot", dir, "-n", f.ns, bothContexts, "--kinds", "jobset,widgets")
		assert.Equal(t, code, 0, "%s", stderr)
		assert.Equal(t, len(ls(t, "--kinds", "jobset,widget", "--from", dir)), 3)
		out, _, code := run(t, "ls", "--kinds", "all", "--from", dir)
		assert.Equal(t, code, 4)
		assert.Assert(t, contains(out, "the snapshot was taken without rayjobs.ray.io. Take it again with --kinds all"), "%s", out)
		_, stderr, code = run(t, "snapshot", filepath.Join(t.TempDir(), "new"), "--kinds", "jobsett")
		assert.Equal(t, code, 2)
		assert.Assert(t, contains(stderr, `unknown kind "jobsett"; did you mean "jobset"?`), "%s", stderr)
	})
}

// codesOf returns the findings for all kinds, as code and name.
func codesOf(t *testing.T, args ...string) []string {
	t.Helper()
	out, stderr, code := run(t, append([]string{"check", "--kinds", "all", "--grace", "0s", "--fail-on", "none", "-o", "json"}, args...)...)
	assert.Equal(t, code, 0, "%s", stderr)
	var list inspect.FindingList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	var codes []string
	for _, f := range list.Items {
		codes = append(codes, f.Code+" "+f.Context+" "+f.Kind+" "+f.Name)
	}
	return codes
}
