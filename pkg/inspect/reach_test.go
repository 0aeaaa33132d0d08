package inspect

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// workers are the contexts that have a copy of each Workload, by the Workload's name.
type workers map[string][]string

// reachOf returns an inventory of a manager m with Workloads, and of the contexts that have copies.
func reachOf(copies workers, manager *KueueFacts, edit func(v map[string]*Facts), addresses ...kubecontext.Address) *Inventory {
	facts := map[string]*Facts{}
	var all []*Facts
	for _, name := range []string{"m", "a", "b"} {
		f := &Facts{Context: name, ClusterUID: "uid-" + name, Gaps: map[Part]error{}, Kueue: &KueueFacts{}}
		facts[name], all = f, append(all, f)
	}
	for name, contexts := range copies {
		for _, context := range contexts {
			w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, Labels: map[string]string{delegation.MultiKueueOriginLabel: "multikueue"}}}
			facts[context].Kueue.Workloads = append(facts[context].Kueue.Workloads, w)
		}
	}
	facts["m"].Kueue = manager
	if edit != nil {
		edit(facts)
	}
	return NewInventory(time.Time{}, all, addresses)
}

// given returns a Workload that was given to MultiKueueClusters: one is chosen, several are
// nominated.
func given(name string, clusters ...string) *kueue.Workload {
	w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name}}
	if len(clusters) == 1 {
		w.Status.ClusterName = ptr.To(clusters[0])
	} else {
		w.Status.Nominated = clusters
	}
	return w
}

// TestContextByWorkloads checks which contexts Workloads prove if no address is known.
func TestContextByWorkloads(t *testing.T) {
	for name, tt := range map[string]struct {
		copies       workers
		given        []*kueue.Workload
		offers       []Offer
		paris, tokyo string
		alike        bool
	}{
		"chosen":                                   {copies: workers{"x": {"a"}}, given: []*kueue.Workload{given("x", "paris")}, paris: "a"},
		"chosen, and the other by exclusion":       {copies: workers{"x": {"a"}, "y": {"a", "b"}}, given: []*kueue.Workload{given("x", "paris"), given("y", "paris", "tokyo")}, paris: "a", tokyo: "b"},
		"nominated only: both, in any order":       {copies: workers{"y": {"a", "b"}}, given: []*kueue.Workload{given("y", "tokyo", "paris")}, paris: "a", tokyo: "b", alike: true},
		"a context is missing":                     {copies: workers{"y": {"a"}}, given: []*kueue.Workload{given("y", "paris", "tokyo")}},
		"only the other one has a copy":            {copies: workers{"x": {"b"}, "y": {"a"}}, given: []*kueue.Workload{given("x", "tokyo"), given("y", "paris", "tokyo")}, paris: "a", tokyo: "b"},
		"only the known one has a copy":            {copies: workers{"x": {"b"}, "y": {"b"}}, given: []*kueue.Workload{given("x", "tokyo"), given("y", "paris", "tokyo")}, tokyo: "b"},
		"two others have no copy":                  {copies: workers{"x": {"b"}, "y": {"a"}}, given: []*kueue.Workload{given("x", "tokyo"), given("y", "paris", "tokyo", "lyon")}, tokyo: "b"},
		"a lost mirror proves nothing":             {copies: workers{"x": {"a"}}, given: []*kueue.Workload{given("x", "paris"), given("lost", "paris")}, paris: "a"},
		"two Workloads disagree":                   {copies: workers{"x": {"a"}, "z": {"b"}}, given: []*kueue.Workload{given("x", "paris"), given("z", "paris")}},
		"a copy that comes late excludes nothing":  {copies: workers{"x": {"b"}, "y": {"a", "b"}, "z": {"b"}}, given: []*kueue.Workload{given("x", "tokyo"), given("y", "paris", "tokyo"), given("z", "paris", "tokyo")}, paris: "a", tokyo: "b"},
		"what was read of Workloads of other Jobs": {given: []*kueue.Workload{given("y", "paris", "tokyo")}, offers: []Offer{{[]string{"paris"}, []string{"b"}}}, paris: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			v := reachOf(tt.copies, &KueueFacts{Workloads: tt.given}, nil)
			v.AddOffers(v.Facts("m"), tt.offers)
			assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), tt.paris)
			assert.Equal(t, v.ContextOf(v.Facts("m"), "tokyo"), tt.tokyo)
			text := map[bool]string{true: "paris or tokyo", false: "paris"}[tt.alike]
			assert.Equal(t, v.ClusterText(v.Facts("m"), "paris"), text)
		})
	}
}

// TestContextNamedAsCluster checks that names decide only among the contexts that have the copies.
func TestContextNamedAsCluster(t *testing.T) {
	v := reachOf(workers{"y": {"a", "b"}}, &KueueFacts{Workloads: []*kueue.Workload{given("y", "b", "tokyo")}}, nil)
	assert.Equal(t, v.ContextOf(v.Facts("m"), "b"), "b")
	assert.Equal(t, v.ContextOf(v.Facts("m"), "tokyo"), "a")
	v = reachOf(nil, &KueueFacts{Workloads: []*kueue.Workload{given("y", "b", "tokyo")}}, nil)
	assert.Equal(t, v.ContextOf(v.Facts("m"), "b"), "")
}

// TestGuessedContexts checks that a context is no proof if several clusters have several contexts
// together, whichever their names are.
func TestGuessedContexts(t *testing.T) {
	for name, tt := range map[string]struct {
		copies workers
		given  []*kueue.Workload
		proven bool
	}{
		"chosen":                   {copies: workers{"x": {"a"}}, given: []*kueue.Workload{given("x", "a")}, proven: true},
		"the name of the context":  {copies: workers{"y": {"a", "b"}}, given: []*kueue.Workload{given("y", "a", "tokyo")}},
		"in alphabetical order":    {copies: workers{"y": {"a", "b"}}, given: []*kueue.Workload{given("y", "paris", "tokyo")}},
		"the other was found":      {copies: workers{"x": {"b"}, "y": {"a", "b"}}, given: []*kueue.Workload{given("x", "tokyo"), given("y", "a", "tokyo")}, proven: true},
		"a mirror is left on both": {copies: workers{"x": {"a", "b"}, "y": {"a", "b"}}, given: []*kueue.Workload{given("x", "a"), given("y", "a", "b")}},
	} {
		t.Run(name, func(t *testing.T) {
			v := reachOf(tt.copies, &KueueFacts{Workloads: tt.given}, nil)
			for _, cluster := range tt.given[0].Status.Nominated {
				assert.Assert(t, v.ContextOf(v.Facts("m"), cluster) != "")
			}
			cluster := offeredTo(tt.given[len(tt.given)-1])[0]
			assert.Equal(t, v.IsContextProven(v.Facts("m"), cluster), tt.proven)
		})
	}
}

// TestContextOfLeftCopy checks that a copy which is left on one worker does not prove that its
// context reaches another one: an address proves more.
func TestContextOfLeftCopy(t *testing.T) {
	k := &KueueFacts{
		Workloads: []*kueue.Workload{given("x", "tokyo")},
		Clusters:  []*kueue.MultiKueueCluster{{ObjectMeta: metav1.ObjectMeta{Name: "paris"}}, {ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}},
		Addresses: map[string]kubecontext.Address{"paris": {Server: "https://a", CA: "a"}, "tokyo": {Server: "https://far", CA: "far"}},
	}
	v := reachOf(workers{"x": {"a"}}, k, nil, kubecontext.Address{Context: "a", Server: "https://a", CA: "a"})
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "a")
	assert.Equal(t, v.ContextOf(v.Facts("m"), "tokyo"), "")
}

// TestContextsOfProxy checks that every pair of contexts with one address is compared: without UIDs,
// the first may be the same cluster as any other.
func TestContextsOfProxy(t *testing.T) {
	const server, ca = "https://proxy", "ca"
	at := func(context string) kubecontext.Address {
		return kubecontext.Address{Context: context, Server: server, CA: ca}
	}
	k := &KueueFacts{Addresses: map[string]kubecontext.Address{"paris": {Server: server, CA: ca}}}
	v := reachOf(nil, k, func(facts map[string]*Facts) { facts["m"].ClusterUID = "" }, at("m"), at("a"), at("b"))
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "")
}

// TestContextsOfSharedProxy checks that of two MultiKueueClusters with one address, the context of
// neither is guessed, unless all contexts with that address certainly reach one cluster.
func TestContextsOfSharedProxy(t *testing.T) {
	at := kubecontext.Address{Server: "https://proxy", CA: "ca"}
	contexts := []kubecontext.Address{{Context: "a", Server: at.Server, CA: at.CA}, {Context: "b", Server: at.Server, CA: at.CA}}
	k := &KueueFacts{Addresses: map[string]kubecontext.Address{"paris": at, "tokyo": at}}
	fails := func(name string) func(map[string]*Facts) {
		return func(v map[string]*Facts) { *v[name] = Facts{Context: name, Err: errors.New("Unauthorized")} }
	}
	for name, facts := range map[string]func(map[string]*Facts){
		"two clusters":            nil,
		"one answers":             fails("b"),
		"UIDs are not readable":   func(v map[string]*Facts) { v["a"].ClusterUID, v["b"].ClusterUID = "", "" },
		"one UID is not readable": func(v map[string]*Facts) { v["a"].ClusterUID = "" },
	} {
		v := reachOf(nil, k, facts, contexts...)
		assert.Equal(t, v.ContextOf(v.Facts("m"), "tokyo"), "", name)
	}
	v := reachOf(nil, k, func(v map[string]*Facts) { v["a"].ClusterUID, v["b"].ClusterUID = "u", "u" }, contexts...)
	assert.Equal(t, v.ContextOf(v.Facts("m"), "tokyo"), "a", "one cluster under two names")
	assert.Equal(t, k.ContextOf("tokyo", contexts, func(string) bool { return true }), "", "ls reads the manager alone")
	assert.Equal(t, k.ContextOf("tokyo", contexts[:1], func(string) bool { return true }), "a")
}

// TestContextsOfLostCluster checks that no context is guessed for clusters that differ.
func TestContextsOfLostCluster(t *testing.T) {
	lost := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}
	lost.Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse}}
	k := &KueueFacts{Workloads: []*kueue.Workload{given("y", "paris", "tokyo")}, Clusters: []*kueue.MultiKueueCluster{lost}}
	v := reachOf(workers{"y": {"a", "b"}}, k, nil)
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "")
	assert.Equal(t, v.ClusterText(v.Facts("m"), "paris"), "paris")
}

// TestContextThatAnswers checks that of several contexts with a worker's address the one that
// answers is meant.
func TestContextThatAnswers(t *testing.T) {
	const server, ca = "https://paris", "the-ca"
	address := func(context string) kubecontext.Address {
		return kubecontext.Address{Context: context, Server: server, CA: ca}
	}
	manager := func() *KueueFacts {
		return &KueueFacts{Addresses: map[string]kubecontext.Address{"paris": {Server: server, CA: ca}}}
	}
	rejects := func(names ...string) func(map[string]*Facts) {
		return func(v map[string]*Facts) {
			for _, name := range names {
				*v[name] = Facts{Context: name, Err: errors.New("Unauthorized")}
			}
		}
	}
	v := reachOf(nil, manager(), rejects("a"), address("a"), address("b"))
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "b", "a has a rejected token")
	v = reachOf(nil, manager(), rejects("a", "b"), address("unread"), address("a"), address("b"))
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "a", "none answers, and a was asked")
	v = reachOf(nil, manager(), nil, address("a"), address("b"))
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "", "a proxy for two clusters")
	chosen := manager()
	chosen.Workloads = []*kueue.Workload{given("x", "paris")}
	v = reachOf(workers{"x": {"b"}}, chosen, nil, address("a"), address("b"))
	assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), "b", "a proxy, and a Workload")
	k := manager()
	answers := func(name string) bool { return name == "b" }
	assert.Equal(t, k.ContextOf("paris", []kubecontext.Address{address("a"), address("b")}, answers), "b")
	assert.Equal(t, k.ContextOf("paris", []kubecontext.Address{address("a")}, answers), "a")
	assert.Equal(t, k.ContextOf("paris", nil, answers), "")
}

// TestContextOfRejectedCertificate checks that the server alone counts if the manager says that
// the certificate authority is wrong.
func TestContextOfRejectedCertificate(t *testing.T) {
	for message, want := range map[string]string{
		"tls: failed to verify certificate: x509: certificate signed by unknown authority": "a",
		"connection refused": "",
	} {
		c := &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: "paris"}}
		c.Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Message: message}}
		k := &KueueFacts{Clusters: []*kueue.MultiKueueCluster{c}, Addresses: map[string]kubecontext.Address{"paris": {Server: "https://a", CA: "wrong"}}}
		v := reachOf(nil, k, nil, kubecontext.Address{Context: "a", Server: "https://a", CA: "right"}, kubecontext.Address{Context: "b", Server: "https://b", CA: "right"})
		assert.Equal(t, v.ContextOf(v.Facts("m"), "paris"), want, message)
	}
}

// TestUnlocated checks for which MultiKueueClusters a context is worth a search.
func TestUnlocated(t *testing.T) {
	k := &KueueFacts{
		Workloads: []*kueue.Workload{given("y", "tokyo", "paris")},
		Addresses: map[string]kubecontext.Address{"paris": {Server: "https://a"}},
	}
	a, b := kubecontext.Address{Context: "a", Server: "https://a"}, kubecontext.Address{Context: "b", Server: "https://b"}
	v := reachOf(nil, k, nil, a, b)
	assert.DeepEqual(t, v.Unlocated(v.Facts("m")), []string{"tokyo"})
	v = reachOf(nil, k, func(v map[string]*Facts) { v["b"].Err = errors.New("down") }, a, b)
	assert.DeepEqual(t, v.Unlocated(v.Facts("m")), []string(nil))
}

// TestUnreadWorkers checks that a worker without a context is reported.
func TestUnreadWorkers(t *testing.T) {
	named := func(name string) *kueue.MultiKueueCluster {
		return &kueue.MultiKueueCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	k := &KueueFacts{
		Clusters:  []*kueue.MultiKueueCluster{named("paris"), named("tokyo"), named("unused"), named("lyon")},
		Configs:   []*kueue.MultiKueueConfig{{}},
		Addresses: map[string]kubecontext.Address{"paris": {Server: "https://a"}, "tokyo": {Server: "https://away"}, "lyon": {Server: "https://c"}},
	}
	k.Configs[0].Spec.Clusters = []string{"paris", "tokyo", "lyon"}
	v := reachOf(nil, k, nil, kubecontext.Address{Context: "a", Server: "https://a"}, kubecontext.Address{Context: "c", Server: "https://c"})
	assert.DeepEqual(t, v.UnreadWorkers(), []Unchecked{
		{What: "worker lyon", Contexts: []string{"c"}, Reason: NotSelected, Cluster: true},
		{What: "worker tokyo", Contexts: []string{}, Reason: "no known context reaches it", Cluster: true},
	})

	// In one namespace, only the workers of its LocalQueues count.
	m := v.Facts("m")
	m.Namespace, m.Kueue.ListsLocalQueues = "ml", true
	assert.Equal(t, len(v.UnreadWorkers()), 0)
	m.Kueue.ListsLocalQueues = false
	assert.Equal(t, len(v.UnreadWorkers()), 2)
}

// TestUnreadWorkersOf: an unread worker may run a Job if the Job was offered to it, or if an eviction has removed
// the nominations. It cannot run a Job that was never offered, or that waits for another AdmissionCheck.
func TestUnreadWorkersOf(t *testing.T) {
	reserved := metav1.Condition{Type: kueue.QuotaReserved, Status: metav1.ConditionTrue}
	wasEvicted := metav1.Condition{Type: kueue.Evicted, Status: metav1.ConditionFalse}
	pending := kueue.CheckState{Name: "multikueue", State: kueue.CheckPending}
	reset := kueue.CheckState{Name: "multikueue", State: kueue.CheckPending, Message: "Reset to Pending after eviction. Previously: Ready"}
	budget := kueue.CheckState{Name: "budget", State: kueue.CheckPending}
	for name, tt := range map[string]struct {
		nominated  []string
		conditions []metav1.Condition
		checks     []kueue.CheckState
		want       int
	}{
		"nominated":                         {[]string{"tokyo"}, []metav1.Condition{reserved}, []kueue.CheckState{pending}, 1},
		"never nominated":                   {nil, []metav1.Condition{reserved}, []kueue.CheckState{pending}, 0},
		"evicted before":                    {nil, []metav1.Condition{reserved, wasEvicted}, []kueue.CheckState{pending}, 1},
		"evicted before, by its message":    {nil, []metav1.Condition{reserved}, []kueue.CheckState{reset}, 1},
		"evicted before, and another check": {nil, []metav1.Condition{reserved, wasEvicted}, []kueue.CheckState{pending, budget}, 0},
		"no quota":                          {[]string{"tokyo"}, nil, []kueue.CheckState{pending}, 0},
	} {
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-train"}}
		w.Status.Nominated, w.Status.Conditions, w.Status.AdmissionChecks = tt.nominated, tt.conditions, tt.checks
		var isOurs, other kueue.AdmissionCheck
		assert.NilError(t, yaml.UnmarshalStrict([]byte(`{metadata: {name: multikueue}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {name: all}}}`), &isOurs))
		assert.NilError(t, yaml.UnmarshalStrict([]byte(`{metadata: {name: budget}, spec: {controllerName: example.com/budget}}`), &other))
		config := &kueue.MultiKueueConfig{ObjectMeta: metav1.ObjectMeta{Name: "all"}}
		config.Spec.Clusters = []string{"tokyo"}
		v := reachOf(nil, &KueueFacts{
			Version: "v1beta2", Workloads: []*kueue.Workload{w}, Checks: []*kueue.AdmissionCheck{&isOurs, &other}, Configs: []*kueue.MultiKueueConfig{config},
			Clusters:  []*kueue.MultiKueueCluster{{ObjectMeta: metav1.ObjectMeta{Name: "tokyo"}}},
			Addresses: map[string]kubecontext.Address{"tokyo": {Server: "https://away"}},
		}, nil)
		assert.Equal(t, len(v.UnreadWorkersOf(v.Facts("m"), w)), tt.want, name)
	}
}
