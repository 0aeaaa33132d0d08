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

// ServedKind is a kind that can be delegated and that a cluster serves, as far as
// its API tells of it.
type ServedKind struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Plural is how its resource is called.
	Plural string `json:"plural"`
	// ManagedBy is the path of the field that names the owner, with dots; "" where it
	// has none: because MultiKueue moves it all the same, or because it is served in
	// old versions only.
	ManagedBy string `json:"managedBy,omitempty"`
	// ShortNames are its other names, and Allowed, Reserved, Defaulted and Change what is
	// known of that field, as in delegation.Kind: told of kinds that are in no table.
	ShortNames []string           `json:"shortNames,omitempty"`
	Allowed    []delegation.Owner `json:"allowed,omitempty"`
	Reserved   string             `json:"reserved,omitempty"`
	Defaulted  bool               `json:"defaulted,omitempty"`
	Change     delegation.Change  `json:"change,omitempty"`
	// Omitted says that its objects were not asked for, so that nobody knows whether
	// there are any.
	Omitted bool `json:"omitted,omitempty"`
}

// unknownKinds stands for whatever tells which kinds a cluster serves.
func unknownKinds() schema.GroupResource {
	return schema.GroupResource{Group: everything, Resource: everything}
}

// kindNames are the names of all kinds that may be recorded, as read.Query takes
// them.
func kindNames() []string {
	names := []string{read.AllKinds}
	for _, k := range delegation.Kinds() {
		if k.IsUnmanaged() {
			names = append(names, k.Name)
		}
	}
	return names
}

// isWanted says whether the objects of a kind are to be recorded. Pods are, as those of
// other kinds.
func (o *Options) isWanted(k delegation.Kind) bool {
	return len(o.Kinds) == 0 || k.Resource == pods().GroupVersionResource || slices.ContainsFunc(o.Kinds, func(name string) bool {
		return name == read.AllKinds && !k.IsUnmanaged() || k.IsNamed(name)
	})
}

func servedKind(k delegation.Kind) ServedKind {
	apiVersion, kind := k.GroupVersionKind().ToAPIVersionAndKind()
	told := ServedKind{
		APIVersion: apiVersion, Kind: kind, Plural: k.Resource.Resource, ManagedBy: strings.Join(k.ManagedBy, "."),
	}
	if k.WithoutField {
		told.ManagedBy = ""
	}
	if k.Discovered {
		told.ShortNames, told.Allowed = k.ShortNames, k.Allowed
		told.Reserved, told.Defaulted, told.Change = k.Reserved, k.Defaulted, k.Change
	}
	return told
}

// isWithoutField says whether it is served without a field that it should have.
func (k *ServedKind) isWithoutField() bool {
	row, known := delegation.KindOf(k.gvk())
	return k.ManagedBy == "" && (!known || !row.IsUnmanaged())
}

// gvk is the kind as objects of it name themselves.
func (k *ServedKind) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
}

// resource is where its objects are.
func (k *ServedKind) resource() resource {
	return resource{k.gvk().GroupVersion().WithResource(k.Plural), k.Kind, true}
}

func resourceOf(k delegation.Kind) resource { return resource{k.Resource, k.Kind, true} }

// plurals are what the resources of kinds are called of which a file may hold objects.
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

// check says what is wrong with what is told of a kind.
func (k *ServedKind) check() error {
	if k.APIVersion == "" || k.Kind == "" || k.Plural == "" {
		return errors.New("an entry of kinds has no apiVersion, kind or plural")
	}
	if _, err := schema.ParseGroupVersion(k.APIVersion); err != nil {
		return fmt.Errorf("an entry of kinds: %w", err)
	}
	return nil
}

// uniqueKinds sorts kinds, and has each once; one that was recorded through one
// context is not omitted because it was through another.
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
