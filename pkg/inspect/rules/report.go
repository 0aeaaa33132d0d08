package rules

import (
	"cmp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// topic is a group of codes that the report of the setup gives one name.
type topic struct {
	name  string
	codes []string
	// spoilers are codes of other topics with which this one has not passed.
	spoilers []string
	// ofWorker is whether the codes are also about objects of workers.
	// onlyWorker is whether they are about nothing else.
	ofWorker, onlyWorker bool
}

// Topics that are checked in a way of their own: LocalQueues and ClusterQueues, and their quotas.
const (
	topicQueues = "queues"
	topicQuotas = "quotas"
)

// topics returns the groups in the order of a report.
func topics() []topic {
	return []topic{
		{name: "connections", codes: view.ConnectionCodes()},
		{name: "configuration", codes: []string{"JM008", "JM009", "JM011", "JM018", "JM126", "JM128", "JM411", "JM412", "JM414", "JM417", "JM419"}},
		// A worker that cannot be used may reject the credentials for reasons that JM405 does not know.
		{name: "credentials", codes: []string{"JM405"}, spoilers: []string{"JM001", "JM002", "JM003", "JM004", "JM005", "JM006"}},
		{name: "rights", codes: []string{"JM416"}},
		{name: "namespaces", codes: []string{"JM401"}},
		{name: topicQueues, codes: []string{"JM401", "JM402", "JM403", "JM404"}, ofWorker: true},
		{name: topicQuotas, codes: []string{"JM406"}},
		{name: "workload priority classes", codes: []string{"JM407"}},
		{name: "kinds", codes: []string{"JM408"}},
		{name: "versions", codes: []string{"JM409", "JM410"}},
		{name: "retention", codes: []string{"JM413"}, ofWorker: true, onlyWorker: true},
		{name: "controllers", codes: []string{"JM415"}, ofWorker: true},
		{name: "clocks", codes: []string{"JM418"}, ofWorker: true},
	}
}

// Report describes how a fleet is set up: the findings, and for each cluster
// what passed and what was not checked. The inventory must have been read
// with Setup.
func Report(v *inspect.Inventory, o Options) *inspect.DoctorReport {
	all := ForSetup()
	judgment := Judge(v, all, o)
	r := &reporter{view: newSightingCache(v).view(), report: inspect.NewDoctorReport(), notJudged: judgment.NotJudged}
	isOutside := outside(v, o.Namespace)
	r.report.Items = slices.DeleteFunc(judgment.Findings, isOutside)
	r.report.Suppressed = judgment.Suppressed(func(f *inspect.Finding) bool { return !isOutside(*f) })
	for _, n := range judgment.NotJudged {
		r.report.Errors = append(r.report.Errors, n.Error())
	}
	r.addUnchecked()
	r.links = r.view.Links()
	for _, f := range r.view.Clusters() {
		r.report.Clusters = append(r.report.Clusters, r.cluster(f))
	}
	r.report.Clusters = append(r.report.Clusters, r.silent...)
	slices.SortStableFunc(r.report.Clusters, func(a, b inspect.DoctorCluster) int {
		return cmp.Compare(slices.Index(inspect.ClusterRoles(), a.Role), slices.Index(inspect.ClusterRoles(), b.Role))
	})
	r.report.Count()
	if r.report.Summary.Managers == 0 {
		unread := inspect.Unchecked{What: "MultiKueue", Contexts: []string{}, Reason: "no context reaches a cluster with MultiKueueClusters"}
		if slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool { return f.Gaps[inspect.PartClusters] != nil }) {
			unread.Reason = "MultiKueueClusters could not be read"
		}
		r.report.Unchecked = append(r.report.Unchecked, unread)
	}
	return r.report
}

type reporter struct {
	view      *view.View
	report    *inspect.DoctorReport
	links     []view.Link
	notJudged []NotJudged
	// unseen are the managers that have a worker which was not read.
	unseen []*inspect.Facts
	// silent are the workers that do not answer, and unsure their managers.
	silent []inspect.DoctorCluster
	unsure []*inspect.Facts
}

func (r *reporter) addUnchecked() {
	for _, n := range r.notJudged {
		what := string(n.Part)
		if n.Part == "" {
			what = inspect.Everything
		}
		r.add(inspect.Unchecked{What: what, Reason: unreadReason(n), Contexts: []string{n.Context}, Cluster: n.Part == ""})
	}
	for _, manager := range r.view.Managers() {
		configs, _ := r.view.Configs(manager)
		clusters, _ := r.view.MultiKueueClusters(manager)
		for _, c := range clusters {
			worker, context := r.view.Worker(manager, c.Name)
			if worker != nil || c.DeletionTimestamp != nil || len(view.ConfigsNaming(configs, c.Name)) == 0 {
				continue
			}
			r.unseen = append(r.unseen, manager)
			unread := inspect.Unchecked{What: inspect.WorkerPrefix + c.Name, Contexts: []string{}, Reason: r.view.WhyNoContext(manager, "it", c.Name), Cluster: true}
			if context == "" {
				r.add(unread)
			} else if err := r.view.Failed(context); err == nil {
				unread.Contexts, unread.Reason = []string{context}, inspect.NotSelected
				r.add(unread)
			} else {
				r.addSilent(manager, c.Name, context, err)
			}
		}
	}
}

// addSilent adds the cluster of a worker that does not answer.
func (r *reporter) addSilent(manager *inspect.Facts, name, context string, err error) {
	r.unsure = append(r.unsure, manager)
	i := slices.IndexFunc(r.silent, func(c inspect.DoctorCluster) bool { return c.Context == context })
	if i >= 0 {
		if !slices.Contains(r.silent[i].Names, name) {
			r.silent[i].Names = append(r.silent[i].Names, name)
		}
		return
	}
	c := inspect.DoctorCluster{
		Context: context, Role: inspect.RoleWorker, Names: []string{name}, Passed: []string{}, NotChecked: []string{},
		Error: kubecontext.InContext(context, "", err).Message(),
	}
	for _, t := range topics() {
		if t.ofWorker {
			c.NotChecked = append(c.NotChecked, t.name)
		}
	}
	r.silent = append(r.silent, c)
}

// add records something that was not checked. Entries with the same reason
// are joined.
func (r *reporter) add(unread inspect.Unchecked) {
	i := slices.IndexFunc(r.report.Unchecked, func(u inspect.Unchecked) bool { return u.What == unread.What && u.Reason == unread.Reason })
	if i < 0 {
		r.report.Unchecked = append(r.report.Unchecked, unread)
		return
	}
	r.report.Unchecked[i].Contexts = append(r.report.Unchecked[i].Contexts, unread.Contexts...)
}

// unreadReason returns why something could not be read. If a right is missing, it
// names the right.
func unreadReason(n NotJudged) string {
	if denied, ok := kubecontext.DenialOf(n.Err); ok && denied.Resource != "" {
		return "needs the right to " + inspect.Access{Verbs: []string{denied.Verb}, Resource: denied.Resource, Group: denied.Group, Namespace: denied.Namespace}.String()
	}
	if _, isSnapshot := kubecontext.NotRecorded(n.Err); isSnapshot {
		return "not in the snapshot; record a new snapshot"
	}
	if apierrors.IsNotFound(n.Err) {
		return "the server does not serve it, or the snapshot lacks it"
	}
	return n.Error().Cause
}

func (r *reporter) cluster(f *inspect.Facts) inspect.DoctorCluster {
	c := inspect.DoctorCluster{
		Context: f.Context, ClusterUID: f.ClusterUID, Role: inspect.RoleUnrelated, Names: []string{},
		Kubernetes: f.Version, Passed: []string{}, NotChecked: []string{},
	}
	if f.Kueue != nil {
		c.KueueAPI = f.Kueue.Version
	}
	if i := r.view.Installation(f); i != nil {
		c.Kueue = i.Version
	}
	involved := r.setRole(&c, f)
	if c.Role == inspect.RoleUnrelated && len(c.Names) == 0 && f.Kueue != nil && r.mayBeWorker(f) {
		c.Role = inspect.RoleUnknown
	}
	if c.Role == inspect.RoleManager || c.Role == inspect.RoleWorker {
		r.addTopics(&c, f, involved)
	}
	return c
}

// mayBeWorker reports whether a cluster may be a worker although no MultiKueueCluster that was read
// points to it: its manager, or the address of a MultiKueueCluster, may be unread.
func (r *reporter) mayBeWorker(f *inspect.Facts) bool {
	managers := r.view.Managers()
	isUnread := func(f *inspect.Facts) bool { return f.Gaps[inspect.PartClusters] != nil }
	if len(managers) == 0 || slices.ContainsFunc(r.view.Clusters(), isUnread) || len(r.view.UnreadContexts()) > 0 {
		return true
	}
	return slices.ContainsFunc(managers, func(manager *inspect.Facts) bool {
		clusters, _ := r.view.MultiKueueClusters(manager)
		return manager != f && slices.ContainsFunc(clusters, func(c *kueue.MultiKueueCluster) bool { return r.view.ContextOf(manager, c.Name) == "" })
	})
}

// setRole sets the role of a cluster and the MultiKueueClusters that point to it. It returns the
// clusters that its findings may be about.
func (r *reporter) setRole(c *inspect.DoctorCluster, f *inspect.Facts) (involved []*inspect.Facts) {
	involved = []*inspect.Facts{f}
	for _, l := range r.links {
		switch f {
		case l.Worker:
			c.Role = inspect.RoleWorker
			if !slices.Contains(c.Names, l.Cluster.Name) {
				c.Names = append(c.Names, l.Cluster.Name)
			}
			involved = append(involved, l.Manager)
		case l.Manager:
			involved = append(involved, l.Worker)
		}
	}
	switch {
	case f.Setup != nil && r.view.IsManager(f):
		c.Role = inspect.RoleManager
	case c.Role == inspect.RoleUnrelated:
		c.Names = r.unusedNames(f)
	}
	return involved
}

// unusedNames returns the MultiKueueClusters that point to a cluster, and that no MultiKueueConfig
// names.
func (r *reporter) unusedNames(f *inspect.Facts) []string {
	names := []string{}
	for _, manager := range r.view.Managers() {
		configs, _ := r.view.Configs(manager)
		clusters, _ := r.view.MultiKueueClusters(manager)
		for _, c := range clusters {
			if len(view.ConfigsNaming(configs, c.Name)) == 0 && f != manager && r.view.ContextOf(manager, c.Name) == f.Context {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// addTopics adds which topics of a cluster passed, and which were not
// checked.
func (r *reporter) addTopics(c *inspect.DoctorCluster, f *inspect.Facts, involved []*inspect.Facts) {
	isWorker := c.Role == inspect.RoleWorker
	for _, t := range topics() {
		isOfOther := isWorker && !t.ofWorker || !c.IsWorker() && t.onlyWorker
		if isOfOther || r.hasProblem(f, t) {
			continue
		}
		// Without Kueue, a worker has nothing to check but its clock.
		lacksKueue := isWorker && f.NoKueue && t.name != "clocks"
		if lacksKueue || r.isUnsure(f, t, isWorker, involved) || r.isUnread(t, involved) {
			c.NotChecked = append(c.NotChecked, t.name)
			continue
		}
		if t.name == topicQuotas && r.hasCohorts(f) {
			c.NotChecked = append(c.NotChecked, t.name+" (queues in cohorts)")
			continue
		}
		c.Passed = append(c.Passed, t.name)
	}
}

// hasCohorts reports whether a queue of a worker that a manager dispatches to is in a cohort. JM406 skips such queues.
func (r *reporter) hasCohorts(manager *inspect.Facts) bool {
	k, _ := r.view.Kueue(manager, inspect.PartQueues)
	finder := r.view.Quotas()
	return slices.ContainsFunc(k.MultiKueueQueues(), func(q inspect.QueueOf) bool { return finder.IsInCohort(manager, q.Local) })
}

// hasInactiveQueue reports whether a ClusterQueue or LocalQueue of a cluster is not active, for whatever
// reason.
func hasInactiveQueue(f *inspect.Facts) bool {
	if f.Kueue == nil {
		return false
	}
	isInactive := func(conditions []metav1.Condition) bool {
		return meta.IsStatusConditionFalse(conditions, kueue.Active)
	}
	return slices.ContainsFunc(f.Kueue.ClusterQueues, func(q *kueue.ClusterQueue) bool { return isInactive(q.Status.Conditions) }) ||
		slices.ContainsFunc(f.Kueue.LocalQueues, func(q *kueue.LocalQueue) bool { return isInactive(q.Status.Conditions) })
}

// isUnsure reports whether a topic of a cluster depends on workers that were not seen.
func (r *reporter) isUnsure(f *inspect.Facts, t topic, isWorker bool, involved []*inspect.Facts) bool {
	switch t.name {
	case "connections":
		return slices.Contains(r.unsure, f)
	case "configuration", "credentials":
		return false
	default:
		return slices.Contains(r.unseen, f) || !isWorker && len(involved) == 1
	}
}

// hasProblem reports whether a topic of a cluster has a finding, or an inactive queue, for whatever reason.
func (r *reporter) hasProblem(f *inspect.Facts, t topic) bool {
	return r.hasFinding(f, t) || t.name == topicQueues && hasInactiveQueue(f)
}

func (r *reporter) hasFinding(f *inspect.Facts, t topic) bool {
	codes := slices.Concat(t.codes, t.spoilers)
	return slices.ContainsFunc(r.report.Items, func(x inspect.Finding) bool { return x.Context == f.Context && slices.Contains(codes, x.Code) })
}

// isUnread reports whether something that a topic depends on could not be
// read.
func (r *reporter) isUnread(t topic, involved []*inspect.Facts) bool {
	return slices.ContainsFunc(r.notJudged, func(n NotJudged) bool {
		isInvolved := slices.ContainsFunc(involved, func(f *inspect.Facts) bool { return f.Context == n.Context })
		return isInvolved && n.Concerns(t.codes)
	})
}
