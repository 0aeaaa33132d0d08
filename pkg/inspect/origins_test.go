package inspect

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestOrphansOfOtherManagers checks that a mirror is no orphan if a manager that was not read may
// have created it. Its fix must not delete the running mirror of another team.
func TestOrphansOfOtherManagers(t *testing.T) {
	row, _ := delegation.KindNamed("job")
	job := func(context, name, origin string, owner delegation.Owner) *Job {
		return &Job{
			KindRow: &row, Context: context, Namespace: "ml", Name: name, UID: context + name, ManagedBy: owner, Status: delegation.Running,
			Marks: &delegation.Marks{MultiKueueOrigin: origin},
		}
	}
	origin := func(name string) *Job { return job("m", name, "", delegation.MultiKueue) }
	paris := []*kueue.MultiKueueCluster{{ObjectMeta: metav1.ObjectMeta{Name: "paris"}}}
	at := func(context string) kubecontext.Address {
		return kubecontext.Address{Context: context, Server: "https://" + context, CA: context}
	}
	for name, tt := range map[string]struct {
		origin   string
		others   map[string][]*Job
		worker   string
		unread   bool
		isOrphan bool
	}{
		"of the only manager":                      {origin: "multikueue", worker: "a", isOrphan: true},
		"of the only manager, by its other mirror": {origin: "team", worker: "a", others: map[string][]*Job{"m": {origin("eval")}, "a": {job("a", "eval", "team", delegation.BuiltIn)}}, isOrphan: true},
		"the manager uses another label":           {origin: "multikueue", worker: "a", others: map[string][]*Job{"m": {origin("eval")}, "a": {job("a", "eval", "team", delegation.BuiltIn)}}},
		"the label of an unknown manager":          {origin: "team-b", worker: "a"},
		"the manager does not use this worker":     {origin: "multikueue", worker: "b"},
		"the manager has used this worker":         {origin: "team", worker: "b", others: map[string][]*Job{"m": {origin("eval")}, "a": {job("a", "eval", "team", delegation.BuiltIn)}}, isOrphan: true},
		"two managers have a Job of that name":     {origin: "multikueue", worker: "a", others: map[string][]*Job{"m": {origin("train")}, "b": {job("b", "train", "", delegation.MultiKueue)}}},
		"a context was not read":                   {origin: "multikueue", worker: "a", unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := &KueueFacts{Clusters: paris, Addresses: map[string]kubecontext.Address{"paris": {Server: "https://" + tt.worker, CA: tt.worker}}}
			addresses := []kubecontext.Address{at("m"), at("a"), at("b")}
			if tt.unread {
				addresses = append(addresses, at("c"))
			}
			mirror := job("a", "train", tt.origin, delegation.BuiltIn)
			v := reachOf(nil, k, func(facts map[string]*Facts) {
				for _, f := range facts {
					f.Kinds = []delegation.Kind{row}
					f.Jobs = tt.others[f.Context]
				}
				facts["a"].Jobs = append(facts["a"].Jobs, mirror)
			}, addresses...)
			assert.Equal(t, v.IsOrphan(mirror), tt.isOrphan)
		})
	}
}

// TestOrphansOfDispatch checks that the mark of dispatch proves an orphan by the cluster that it names
// alone, and only if that was read completely: the fix deletes the mirror.
func TestOrphansOfDispatch(t *testing.T) {
	row, _ := delegation.KindNamed("job")
	other, _ := delegation.KindNamed("jobset")
	train := types.NamespacedName{Namespace: "ml", Name: "train"}
	for name, tt := range map[string]struct {
		edit     func(m *Facts, mirror *Job)
		isOrphan bool
	}{
		"its origin is gone":         {edit: func(*Facts, *Job) {}, isOrphan: true},
		"its namespace was read":     {edit: func(m *Facts, _ *Job) { m.Namespace = "ml" }, isOrphan: true},
		"another namespace was read": {edit: func(m *Facts, _ *Job) { m.Namespace = "web" }},
		"its origin was requested": {edit: func(m *Facts, _ *Job) {
			m.Namespace, m.Absent = "web", map[ObjectName]bool{{GroupKind: row.GroupVersionKind().GroupKind(), NamespacedName: train}: true}
		}, isOrphan: true},
		"the cluster was not read":      {edit: func(m *Facts, _ *Job) { m.Err = errors.New("timeout") }},
		"the kind was not read":         {edit: func(m *Facts, _ *Job) { m.Kinds = []delegation.Kind{other} }},
		"the kind may not be read":      {edit: func(m *Facts, _ *Job) { m.AddGap(PartOf(row), errors.New("forbidden")) }},
		"the cluster is not identified": {edit: func(m *Facts, _ *Job) { m.ClusterUID = "" }},
		"its namespace identifies the cluster": {edit: func(m *Facts, mirror *Job) {
			m.ClusterUID, m.NamespaceUIDs = "", map[string]string{"ml": "n"}
			mirror.Marks.Origin.ClusterUID, mirror.Marks.Origin.NamespaceUID = "", "n"
		}, isOrphan: true},
		"MultiKueue has a Job of its name": {edit: func(m *Facts, _ *Job) {
			m.Jobs = append(m.Jobs, &Job{KindRow: &row, Context: "m", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "another", ManagedBy: delegation.MultiKueue, Status: delegation.Running})
		}, isOrphan: true},
	} {
		t.Run(name, func(t *testing.T) {
			mirror := &Job{
				KindRow: &row, Context: "a", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "mirror", ManagedBy: delegation.BuiltIn, Status: delegation.Running,
				Marks: &delegation.Marks{OriginUID: "gone", Origin: delegation.Place{ClusterUID: "uid-m", Namespace: "ml", Name: "train"}},
			}
			// The context b was not read.
			addresses := []kubecontext.Address{{Context: "m"}, {Context: "a"}, {Context: "b"}}
			v := reachOf(nil, &KueueFacts{}, func(facts map[string]*Facts) {
				for _, f := range facts {
					f.Kinds = []delegation.Kind{row}
				}
				facts["b"].Err = errors.New("forbidden")
				facts["a"].Jobs = []*Job{mirror}
				tt.edit(facts["m"], mirror)
			}, addresses...)
			assert.Equal(t, v.IsOrphan(mirror), tt.isOrphan)
			assert.Equal(t, v.LacksOrigin(mirror), tt.isOrphan)
		})
	}
}

// TestCurrentOriginName checks that two names that were used last in the same second leave it open which
// one is current, however often it is asked.
func TestCurrentOriginName(t *testing.T) {
	at := time.Unix(100, 0)
	n := OriginNames{}
	assert.Assert(t, n.IsCurrent("a"))
	n.use("a", at)
	n.use("b", at)
	for range 20 {
		assert.Equal(t, n.Current(), "")
		assert.Assert(t, n.IsCurrent("a") && n.IsCurrent("b"))
	}
	n.use("b", at.Add(time.Second))
	assert.Equal(t, n.Current(), "b")
	assert.Assert(t, !n.IsCurrent("a"))
}

// TestOriginNamesOfUnlocatedWorkers checks that the copy of a Workload shows the name that its manager uses, wherever
// it is: which context reaches which worker may be found out later.
func TestOriginNamesOfUnlocatedWorkers(t *testing.T) {
	origin := object("m", "ns", "train", managedBy(delegation.MultiKueue), uid("new"))
	older := object("w", "ns", "train", marked(delegation.Marks{MultiKueueOrigin: "team", Prebuilt: prebuilt("train", "old")}))
	workload := func(labels map[string]string) *KueueFacts {
		return &KueueFacts{Workloads: []*kueue.Workload{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job-eval-1234", Labels: labels}}}}
	}
	manager := &Facts{Context: "m", Jobs: []*Job{origin}, Kueue: workload(nil)}
	worker := &Facts{Context: "w", Jobs: []*Job{older}, Kueue: workload(map[string]string{delegation.MultiKueueOriginLabel: "team"})}
	v := NewInventory(time.Now(), []*Facts{manager, worker}, nil)
	assert.DeepEqual(t, pairsText(v.Pairs), []string{"m/train: w/train multikueue old"})
	may, certain := v.OriginNames(manager).MayLabel("team")
	assert.Assert(t, may && certain)
}
