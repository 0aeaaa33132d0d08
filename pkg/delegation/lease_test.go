package delegation_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

func TestIsDispatched(t *testing.T) {
	mirrored := &delegation.Marks{Mirror: delegation.Place{ClusterUID: "c", Namespace: "n", Name: "a", UID: "u"}}
	for _, tt := range []struct {
		name  string
		owner delegation.Owner
		marks *delegation.Marks
		want  bool
	}{
		{"of dispatch", delegation.Dispatch, nil, true},
		{"of dispatch, with a mirror", delegation.Dispatch, mirrored, true},
		{"of another controller", otherOwner, nil, false},
		{"of another controller, in a queue", otherOwner, &delegation.Marks{Queue: "q"}, false},
		{"of another controller, with a mirror", otherOwner, mirrored, true},
		{"of another controller, with a malformed mirror mark", otherOwner, &delegation.Marks{BadMirror: "x"}, true},
		{"not delegated", delegation.BuiltIn, mirrored, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, delegation.IsDispatched(tt.owner, tt.marks), tt.want)
		})
	}
}

func TestLeaseName(t *testing.T) {
	assert.Equal(t, delegation.LeaseName("train"), "jobs-managedby-train")
	assert.Equal(t, delegation.Job().LeaseName("train"), "jobs-managedby-train")
	names := map[string]bool{}
	for _, k := range delegation.Kinds() {
		name := k.LeaseName("train")
		assert.Equal(t, len(validation.IsDNS1123Subdomain(name)), 0, name)
		// Two versions of one kind have the same objects.
		names[name] = true
	}
	groups := map[schema.GroupResource]bool{}
	for _, k := range delegation.Kinds() {
		groups[k.Resource.GroupResource()] = true
	}
	assert.Equal(t, len(names), len(groups))

	jobSet, _ := delegation.KindNamed("jobset")
	assert.Equal(t, jobSet.LeaseName("train"), "jobs-managedby.jobset.jobset.x-k8s.io-train-9462a814c9b3eaf6822fad7e55be4857")
	long := strings.Repeat("n", 253)
	assert.Equal(t, len(validation.IsDNS1123Subdomain(jobSet.LeaseName(long))), 0)
	assert.Assert(t, jobSet.LeaseName(long) != jobSet.LeaseName(long[1:]))
	// A long name may be cut at any place.
	for n := range 63 {
		dotted := strings.Repeat("n", 150+n) + "." + strings.Repeat("n", 100-n)
		assert.Equal(t, len(validation.IsDNS1123Subdomain(jobSet.LeaseName(dotted))), 0, jobSet.LeaseName(dotted))
	}
}

// TestLeaseNamesAreUnique checks that no two objects share a Lease, even if their names are
// chosen for that. A Job named "b" and a JobSet named "a" form the first pair, and so on.
func TestLeaseNamesAreUnique(t *testing.T) {
	kindOf := func(group, kind string) delegation.Kind {
		return delegation.DiscoveredKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, strings.ToLower(kind)+"s", nil, nil)
	}
	kinds := []delegation.Kind{
		kindOf("a", "X"), kindOf("a.b", "X"), kindOf("a-b", "X"), kindOf("a.b-c", "X"), kindOf("x.a", "X"), kindOf("", "X"), kindOf("a", "X.x"),
		// This is the same kind, with the same text for a reader, in two resources.
		delegation.DiscoveredKind(schema.GroupVersionKind{Group: "a", Version: "v1", Kind: "X"}, "others", nil, nil),
	}
	known := map[schema.GroupResource]bool{}
	for _, k := range delegation.Kinds() {
		if !known[k.Resource.GroupResource()] {
			known[k.Resource.GroupResource()] = true
			kinds = append(kinds, k)
		}
	}
	long := strings.Repeat("n", 200)
	names := []string{"x", "b-x", "c-x", "b.c-x", "x-a", "a-x", "x-x", "x.a-x", "b.x", long, long + strings.Repeat("n", 37), long + strings.Repeat("n", 52) + "a", long + strings.Repeat("n", 52) + "b", long + strings.Repeat(".n", 26)}
	// Add each name that is a Lease of another kind, or a part of one.
	for range 2 {
		var more []string
		for _, k := range kinds {
			for _, name := range names[:8] {
				lease := k.LeaseName(name)
				for _, prefix := range []string{"", "jobs-managedby-", "jobs-managedby.", "jobs-managedby"} {
					more = append(more, strings.Trim(strings.TrimPrefix(lease, prefix), "-."))
				}
				more = append(more, k.String()+"-"+name, k.String()+"."+name)
			}
		}
		names = append(more, names...)
	}
	seen := map[string]string{}
	for _, k := range kinds {
		for _, name := range names {
			if len(validation.IsDNS1123Subdomain(name)) > 0 {
				continue
			}
			lease, object := k.LeaseName(name), k.Resource.GroupResource().String()+" "+name
			other, isTaken := seen[lease]
			assert.Assert(t, !isTaken || other == object, "%s is the Lease of %s and of %s", lease, object, other)
			seen[lease] = object
			assert.Assert(t, len(validation.IsDNS1123Subdomain(lease)) == 0, "%s of %s", lease, object)
		}
	}
	assert.Assert(t, len(seen) > 10000, "%d", len(seen))
}
