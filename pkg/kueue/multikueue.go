package kueue

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AdmissionCheck is a check that a Workload must pass, such as MultiKueue.
type AdmissionCheck struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ControllerName string `json:"controllerName"`
		Parameters     *struct {
			APIGroup string `json:"apiGroup"`
			Kind     string `json:"kind"`
			Name     string `json:"name"`
		} `json:"parameters,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// IsMultiKueue reports whether MultiKueue serves the check.
func (c *AdmissionCheck) IsMultiKueue() bool { return c.Spec.ControllerName == ControllerName }

// IsServed reports whether a controller has ever written the status of an AdmissionCheck. That is the first
// thing that a controller does.
func (c *AdmissionCheck) IsServed() bool {
	return meta.FindStatusCondition(c.Status.Conditions, Active) != nil
}

// IsMeantForMultiKueue reports whether an AdmissionCheck of another controller has parameters that only
// MultiKueue understands.
func (c *AdmissionCheck) IsMeantForMultiKueue() bool {
	p := c.Spec.Parameters
	return !c.IsMultiKueue() && p != nil && p.APIGroup == Group && strings.EqualFold(p.Kind, "MultiKueueConfig")
}

// MultiKueueConfig names the clusters that an AdmissionCheck dispatches to.
type MultiKueueConfig struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Clusters []string `json:"clusters"`
	} `json:"spec"`
}

// MultiKueueCluster says how the manager reaches a worker cluster.
type MultiKueueCluster struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		// Source is the field of v1beta2, KubeConfig the field of v1beta1.
		Source *struct {
			KubeConfig        *KubeConfigRef `json:"kubeConfig,omitempty"`
			ClusterProfileRef *struct {
				Name string `json:"name"`
			} `json:"clusterProfileRef,omitempty"`
		} `json:"clusterSource,omitempty"`
		KubeConfig *KubeConfigRef `json:"kubeConfig,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// KubeConfigRef names a Secret, or a file in the manager's own file system.
type KubeConfigRef struct {
	Location     string `json:"location"`
	LocationType string `json:"locationType,omitempty"`
}

// ProfileName returns the ClusterProfile that says how to reach the cluster,
// "" without one.
func (c *MultiKueueCluster) ProfileName() string {
	if c.Spec.Source == nil || c.Spec.Source.ClusterProfileRef == nil {
		return ""
	}
	return c.Spec.Source.ClusterProfileRef.Name
}

// SecretName returns the Secret that has the cluster's kubeconfig, "" if the
// kubeconfig is not in a Secret.
func (c *MultiKueueCluster) SecretName() string {
	ref := c.Spec.KubeConfig
	if c.Spec.Source != nil && c.Spec.Source.KubeConfig != nil {
		ref = c.Spec.Source.KubeConfig
	}
	if ref == nil || ref.LocationType != "" && ref.LocationType != "Secret" {
		return ""
	}
	return ref.Location
}

// admittedOn matches the message of MultiKueue's check once a worker has a
// Workload. Kueue up to 0.18 uses the first form.
var admittedOn = regexp.MustCompile(`^The workload (?:got reservation|was admitted) on "([^"]+)"$`)

// ChosenCluster returns the MultiKueueCluster that got a Workload, "" if
// none.
func (w *Workload) ChosenCluster() string {
	name, _ := w.Chosen()
	return name
}

// Chosen returns the MultiKueueCluster that got a Workload, "" if none, and
// the field that names it. Kueue before 0.13 has no such field. The message
// of MultiKueue's check names the cluster then.
func (w *Workload) Chosen() (cluster, field string) {
	if w.Status.ClusterName != nil {
		return *w.Status.ClusterName, "status.clusterName"
	}
	for _, c := range w.Status.AdmissionChecks {
		if found := admittedOn.FindStringSubmatch(c.Message); found != nil && c.State == CheckReady {
			return found[1], fmt.Sprintf("the cluster in status.admissionChecks[%s].message", c.Name)
		}
	}
	return "", "status.clusterName"
}
