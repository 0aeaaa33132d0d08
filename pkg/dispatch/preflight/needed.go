package preflight

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/refusal"
)

// Needed is an object of a namespace without which Pods there do not start.
type Needed struct{ Kind, Name string }

func (n Needed) String() string { return n.Kind + " " + n.Name }

// Resource returns the resource of the kind.
func (n Needed) Resource() schema.GroupVersionResource {
	switch n.Kind {
	case "ServiceAccount":
		return corev1.SchemeGroupVersion.WithResource("serviceaccounts")
	case "PersistentVolumeClaim":
		return corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	}
	return dependency.Resource(n.Kind)
}

// NeededBy returns what the Pods of an object need in its namespace: ConfigMaps, Secrets,
// ServiceAccounts and PersistentVolumeClaims, in this order. Objects that are optional are left out.
func NeededBy(k delegation.Kind, o *unstructured.Unstructured) []Needed {
	templates, _ := podsOf(k, o)
	return neededBy(referencesOf(templates), templates)
}

func neededBy(references []reference, templates []pods) []Needed {
	var all []Needed
	add := func(kind, name string) {
		if n := (Needed{kind, name}); !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	for _, r := range references {
		if !r.optional && !r.soft {
			add(r.kind, r.name)
		}
	}
	for _, t := range templates {
		if account := t.spec.ServiceAccountName; account != "" && account != refusal.DefaultAccount {
			add("ServiceAccount", account)
		}
	}
	for _, t := range templates {
		for _, v := range t.spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				add("PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	return all
}
