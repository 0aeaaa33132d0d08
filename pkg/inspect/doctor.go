package inspect

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ClusterRole is the role of a cluster in MultiKueue.
type ClusterRole string

// The roles. A manager that is also a worker is a manager with Names.
const (
	RoleManager   ClusterRole = "manager"
	RoleWorker    ClusterRole = "worker"
	RoleUnrelated ClusterRole = "none"
	// RoleUnknown means that the cluster has Kueue, and that its role is not proven: no manager was read,
	// something could not be read, or a manager does not show where one of its workers is.
	RoleUnknown ClusterRole = "unknown"
)

// ClusterRoles returns all roles.
func ClusterRoles() []ClusterRole {
	return []ClusterRole{RoleManager, RoleWorker, RoleUnrelated, RoleUnknown}
}

// DoctorReport is the output of doctor.
type DoctorReport struct {
	metav1.TypeMeta `json:",inline"`
	// Clusters are the clusters that were read, managers first.
	Clusters []DoctorCluster `json:"clusters"`
	// Items are the findings, the most severe first.
	Items []Finding `json:"items"`
	// Suppressed are the findings that the user suppressed.
	Suppressed []Finding `json:"-"`
	// Summary counts what was checked and found.
	Summary DoctorSummary `json:"summary"`
	// Unchecked is what the report depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts, and the parts of them, that could not be read.
	Errors []ContextError `json:"errors"`
}

// DoctorCluster is a cluster and what was checked on it.
type DoctorCluster struct {
	// Context reaches the cluster.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Role is the role of the cluster in MultiKueue.
	Role ClusterRole `json:"role"`
	// Names are the MultiKueueClusters that point to the cluster.
	Names []string `json:"names"`
	// Kubernetes is the version of the API server; empty if unknown.
	Kubernetes string `json:"kubernetes"`
	// Kueue is the version of Kueue's controller; empty if unknown.
	Kueue string `json:"kueue"`
	// KueueAPI is the version in which Kueue's API was read; empty if the cluster does not serve
	// it.
	KueueAPI string `json:"kueueAPI"`
	// Passed are the topics that were checked completely, without a finding.
	Passed []string `json:"passed"`
	// NotChecked are the topics that were only checked in part, without a finding so far. A reason may follow in
	// parentheses.
	NotChecked []string `json:"notChecked"`
	// Error is why nothing of the cluster could be read; empty if it was read.
	Error string `json:"error,omitempty"`
}

// IsWorker reports whether a manager dispatches to the cluster, which may be a manager as well.
func (c *DoctorCluster) IsWorker() bool {
	return c.Role == RoleWorker || c.Role == RoleManager && len(c.Names) > 0
}

// DoctorSummary counts what doctor has checked and found.
type DoctorSummary struct {
	// Errors is how many findings are of severity error.
	Errors int `json:"errors"`
	// Warnings is how many findings are of severity warning.
	Warnings int `json:"warnings"`
	// Infos is how many findings are of severity info.
	Infos int `json:"infos"`
	// Suppressed is how many findings --suppress leaves out. The other numbers of findings do not
	// include them.
	Suppressed int `json:"suppressed"`
	// Managers is how many management clusters were checked.
	Managers int `json:"managers"`
	// Workers is how many workers were checked, including those that are also managers.
	Workers int `json:"workers"`
}

// NewDoctorReport returns an empty report.
func NewDoctorReport() *DoctorReport {
	return &DoctorReport{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "DoctorReport"},
		Clusters: []DoctorCluster{}, Items: []Finding{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// Count fills the summary.
func (r *DoctorReport) Count() {
	r.Summary = DoctorSummary{Suppressed: len(r.Suppressed)}
	for i := range r.Items {
		switch r.Items[i].Severity {
		case Error:
			r.Summary.Errors++
		case Warning:
			r.Summary.Warnings++
		case Info:
			r.Summary.Infos++
		}
	}
	for i := range r.Clusters {
		c := &r.Clusters[i]
		if c.Error != "" {
			continue
		}
		if c.Role == RoleManager {
			r.Summary.Managers++
		}
		if c.IsWorker() {
			r.Summary.Workers++
		}
	}
}

// Findings returns the report as a list of findings, for formats that have no clusters.
func (r *DoctorReport) Findings() *FindingList {
	list := NewFindingList()
	list.Items, list.Suppressed, list.Unchecked, list.Errors = r.Items, r.Suppressed, r.Unchecked, r.Errors
	list.Summary = CheckSummary{
		Errors: r.Summary.Errors, Warnings: r.Summary.Warnings, Infos: r.Summary.Infos, Suppressed: r.Summary.Suppressed, Clusters: len(r.Clusters),
	}
	return list
}

// DeepCopyObject returns a copy that shares no mutable part with r.
func (r *DoctorReport) DeepCopyObject() runtime.Object {
	list, _ := r.Findings().DeepCopyObject().(*FindingList)
	c := &DoctorReport{TypeMeta: r.TypeMeta, Clusters: slices.Clone(r.Clusters), Items: list.Items, Suppressed: list.Suppressed, Summary: r.Summary, Unchecked: list.Unchecked, Errors: list.Errors}
	for i := range c.Clusters {
		c.Clusters[i].Names = slices.Clone(c.Clusters[i].Names)
		c.Clusters[i].Passed, c.Clusters[i].NotChecked = slices.Clone(c.Clusters[i].Passed), slices.Clone(c.Clusters[i].NotChecked)
	}
	return c
}

// The parts of Setup. Only doctor requests them.
const (
	PartInstallation    Part = "the installation of Kueue"
	PartPriorityClasses Part = "WorkloadPriorityClasses"
	PartCredentials     Part = "worker credentials"
	PartAccess          Part = "worker rights"
)

// setupParts returns the parts of Setup.
func setupParts() []Part {
	return []Part{PartInstallation, PartPriorityClasses, PartCredentials, PartAccess}
}

// Setup is the configuration of a cluster that no single Job depends on.
type Setup struct {
	// Installation is the installation of Kueue; nil if not found.
	Installation *kueue.Installation
	// PriorityClasses are the values of the WorkloadPriorityClasses, by name.
	PriorityClasses map[string]int32
	// Credentials are the public facts of the credentials in the MultiKueueClusters' kubeconfigs,
	// by the clusters' names.
	Credentials map[string]kubecontext.Credential
	// NoCredentials says why a MultiKueueCluster without an entry in Credentials has none.
	NoCredentials map[string]error
	// Denied are the rights that the user of each MultiKueueCluster lacks on its worker. A
	// MultiKueueCluster without an entry was not checked.
	Denied map[string][]Access
	// Void says why the worker of a MultiKueueCluster rejects the manager's token, by the
	// clusters' names. Clusters without an entry have no known reason.
	Void map[string]string
}

// with merges what two contexts read of one cluster.
func (s *Setup) with(other *Setup) *Setup {
	if s == nil || other == nil {
		return cmp.Or(s, other)
	}
	return &Setup{
		Installation: cmp.Or(s.Installation, other.Installation), PriorityClasses: union(s.PriorityClasses, other.PriorityClasses),
		Credentials: union(s.Credentials, other.Credentials), Denied: union(s.Denied, other.Denied),
		Void: union(s.Void, other.Void), NoCredentials: union(s.NoCredentials, other.NoCredentials),
	}
}

// SetCredential sets the credential of a MultiKueueCluster.
func (s *Setup) SetCredential(cluster string, c kubecontext.Credential) {
	if s.Credentials == nil {
		s.Credentials = map[string]kubecontext.Credential{}
	}
	s.Credentials[cluster] = c
}

// SetNoCredential sets why a MultiKueueCluster has no known credential.
func (s *Setup) SetNoCredential(cluster string, why error) {
	if s.NoCredentials == nil {
		s.NoCredentials = map[string]error{}
	}
	s.NoCredentials[cluster] = why
}

// SetDenied sets the rights that the user of a MultiKueueCluster lacks.
func (s *Setup) SetDenied(cluster string, denied []Access) {
	if s.Denied == nil {
		s.Denied = map[string][]Access{}
	}
	s.Denied[cluster] = denied
}

// SetVoid sets why the worker of a MultiKueueCluster rejects the manager's token.
func (s *Setup) SetVoid(cluster, why string) {
	if s.Void == nil {
		s.Void = map[string]string{}
	}
	s.Void[cluster] = why
}

// Access is a set of verbs on a resource.
type Access struct {
	// Group and Resource are, for example, "batch" and "jobs/status".
	Group, Resource string
	// Verbs are, for example, "get" and "list".
	Verbs []string
	// Namespace is the namespace, "" for all.
	Namespace string
}

// Sorted returns the access with its verbs in order.
func (a Access) Sorted() Access {
	a.Verbs = slices.Sorted(slices.Values(a.Verbs))
	return a
}

// String returns the access as text: verbs, and the resource with its group.
func (a Access) String() string {
	text := strings.Join(a.Verbs, ",") + " " + a.Resource
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text
}
