package inspect

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterRole is the role of a cluster in MultiKueue.
type ClusterRole string

// The roles. A manager that is also a worker is a manager with Names.
const (
	RoleManager   ClusterRole = "manager"
	RoleWorker    ClusterRole = "worker"
	RoleUnrelated ClusterRole = "none"
	// RoleUnknown means that the cluster has Kueue, but its MultiKueueClusters, or a cluster that may
	// be its manager, could not be read.
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
	// NotChecked are the topics that were only checked in part, without a finding so far.
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
	r.Summary = DoctorSummary{}
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
	list.Items, list.Unchecked, list.Errors = r.Items, r.Unchecked, r.Errors
	list.Summary = CheckSummary{Errors: r.Summary.Errors, Warnings: r.Summary.Warnings, Infos: r.Summary.Infos, Clusters: len(r.Clusters)}
	return list
}

// DeepCopyObject returns a copy that shares no mutable part with r.
func (r *DoctorReport) DeepCopyObject() runtime.Object {
	list, _ := r.Findings().DeepCopyObject().(*FindingList)
	c := &DoctorReport{TypeMeta: r.TypeMeta, Clusters: slices.Clone(r.Clusters), Items: list.Items, Summary: r.Summary, Unchecked: list.Unchecked, Errors: list.Errors}
	for i := range c.Clusters {
		c.Clusters[i].Names = slices.Clone(c.Clusters[i].Names)
		c.Clusters[i].Passed, c.Clusters[i].NotChecked = slices.Clone(c.Clusters[i].Passed), slices.Clone(c.Clusters[i].NotChecked)
	}
	return c
}
