package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// ServedKind is a delegable kind that a cluster serves, as far as its API describes it.
type ServedKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Plural is the name of its resource.
	Plural string `json:"plural"`
	// ManagedBy is the path of the field that names the owner, with dots. It is "" for a kind
	// without the field, because MultiKueue moves it anyway, or because only old versions are
	// served.
	ManagedBy string `json:"managedBy,omitempty"`
	// ShortNames are its short names. Allowed, Reserved, Defaulted and Change describe the field
	// as in delegation.Kind. They are set only for kinds that are not in the table.
	ShortNames []string           `json:"shortNames,omitempty"`
	Allowed    []delegation.Owner `json:"allowed,omitempty"`
	Reserved   string             `json:"reserved,omitempty"`
	Defaulted  bool               `json:"defaulted,omitempty"`
	Change     delegation.Change  `json:"change,omitempty"`
	// Omitted is whether its objects were not requested, so that their number is unknown.
	Omitted bool `json:"omitted,omitempty"`
}

// unknownKinds represents the list of kinds that a cluster serves.
func unknownKinds() schema.GroupResource {
	return schema.GroupResource{Group: everything, Resource: everything}
}

// kindNames returns the names of all kinds that may be recorded, for read.Query.
func kindNames() []string {
	names := []string{read.AllKinds}
	for _, k := range delegation.Kinds() {
		if k.IsUnmanaged() {
			names = append(names, k.Name)
		}
	}
	return names
}

// isWanted reports whether the objects of a kind are recorded. Pods always are, because they
// belong to objects of other kinds.
func (o *Options) isWanted(k delegation.Kind) bool {
	return len(o.Kinds) == 0 || k.Resource == pods().GroupVersionResource || slices.ContainsFunc(o.Kinds, func(name string) bool {
		return name == read.AllKinds && !k.IsUnmanaged() || k.IsNamed(name)
	})
}

func servedKind(k delegation.Kind) ServedKind {
	apiVersion, kind := k.GroupVersionKind().ToAPIVersionAndKind()
	result := ServedKind{
		APIVersion: apiVersion, Kind: kind, Plural: k.Resource.Resource, ManagedBy: strings.Join(k.ManagedBy, "."),
	}
	if k.WithoutField {
		result.ManagedBy = ""
	}
	if k.Discovered {
		result.ShortNames, result.Allowed = k.ShortNames, k.Allowed
		result.Reserved, result.Defaulted, result.Change = k.Reserved, k.Defaulted, k.Change
	}
	return result
}

// isWithoutField reports whether the kind is served without a field that it should have.
func (k *ServedKind) isWithoutField() bool {
	row, known := delegation.KindOf(k.gvk())
	return k.ManagedBy == "" && (!known || !row.IsUnmanaged())
}

// gvk returns the kind as its objects name it.
func (k *ServedKind) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
}

// resource returns the resource of its objects.
func (k *ServedKind) resource() resource {
	return resource{k.gvk().GroupVersion().WithResource(k.Plural), k.Kind, true}
}

func resourceOf(k delegation.Kind) resource { return resource{k.Resource, k.Kind, true} }

// plurals returns the resource names of the kinds whose objects a file may contain.
func (s *Snapshot) plurals(file string) map[schema.GroupVersionKind]string {
	names := map[schema.GroupVersionKind]string{}
	for i := range s.Contexts {
		if s.Contexts[i].File != file {
			continue
		}
		for _, k := range s.Contexts[i].Kinds {
			names[k.gvk()] = k.Plural
		}
	}
	return names
}

// check returns an error if the recorded facts of a kind are incomplete.
func (k *ServedKind) check() error {
	if k.APIVersion == "" || k.Kind == "" || k.Plural == "" {
		return errors.New("an entry of kinds has no apiVersion, kind or plural")
	}
	if _, err := schema.ParseGroupVersion(k.APIVersion); err != nil {
		return fmt.Errorf("an entry of kinds: %w", err)
	}
	return nil
}

// uniqueKinds sorts kinds and removes duplicates. A kind that was recorded through one context is
// not omitted because another context omitted it.
func uniqueKinds(kinds []ServedKind) []ServedKind {
	name := func(k ServedKind) string { return k.APIVersion + "/" + k.Plural }
	slices.SortStableFunc(kinds, func(a, b ServedKind) int {
		if by := strings.Compare(name(a), name(b)); by != 0 || a.Omitted == b.Omitted {
			return by
		}
		if a.Omitted {
			return 1
		}
		return -1
	})
	return slices.CompactFunc(kinds, func(a, b ServedKind) bool { return name(a) == name(b) })
}
