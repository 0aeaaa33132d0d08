package kueue

import (
	"encoding/json"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Digest is a hash of a part of an object. It is kept for comparisons instead
// of the part.
type Digest uint64

// UnmarshalJSON sets the digest of the JSON text. One API server always
// writes the same value in the same way.
func (d *Digest) UnmarshalJSON(text []byte) error {
	h := fnv.New64a()
	// Write of a hash never fails.
	_, _ = h.Write(text)
	*d = Digest(h.Sum64())
	return nil
}

// PodShape has the digest of the part of a Pod's spec that Kueue schedules by
// (kueue: pkg/util/pod, SpecShape). Pods that differ only in volumes, images
// or commands have the same. A limit counts as the request, because Kueue fills
// in missing requests before (kueue: pkg/workload/resources.go). What LimitRanges and RuntimeClasses add is unknown here.
type PodShape struct {
	Digest Digest
	// NodeSelector is the node selector, such as "a=b,c=d", sorted.
	NodeSelector string
}

// UnmarshalJSON sets the shape of a Pod's spec.
func (d *PodShape) UnmarshalJSON(text []byte) error {
	type container struct {
		Resources shapeResources  `json:"resources"`
		Ports     json.RawMessage `json:"ports"`
	}
	var shape struct {
		InitContainers            []container     `json:"initContainers"`
		Containers                []container     `json:"containers"`
		NodeSelector              json.RawMessage `json:"nodeSelector"`
		Affinity                  json.RawMessage `json:"affinity"`
		Tolerations               json.RawMessage `json:"tolerations"`
		RuntimeClassName          json.RawMessage `json:"runtimeClassName"`
		Priority                  json.RawMessage `json:"priority"`
		TopologySpreadConstraints json.RawMessage `json:"topologySpreadConstraints"`
		Overhead                  json.RawMessage `json:"overhead"`
		ResourceClaims            json.RawMessage `json:"resourceClaims"`
		Resources                 shapeResources  `json:"resources"`
	}
	if err := json.Unmarshal(text, &shape); err != nil {
		return err
	}
	h := fnv.New64a()
	add := func(parts ...json.RawMessage) {
		for _, part := range parts {
			// Write of a hash never fails.
			_, _ = h.Write(part)
			_, _ = h.Write([]byte{0})
		}
	}
	for _, containers := range [][]container{shape.InitContainers, shape.Containers} {
		for _, c := range containers {
			add(c.Resources.effective(), c.Ports)
		}
		add([]byte{1})
	}
	add(shape.NodeSelector, shape.Affinity, shape.Tolerations, shape.RuntimeClassName, shape.Priority, shape.TopologySpreadConstraints,
		shape.Overhead, shape.ResourceClaims, shape.Resources.effective())
	*d = PodShape{Digest: Digest(h.Sum64())}
	if len(shape.NodeSelector) > 0 {
		var selector labels.Set
		if err := json.Unmarshal(shape.NodeSelector, &selector); err != nil {
			return err
		}
		d.NodeSelector = selector.String()
	}
	return nil
}

// shapeResources are the resources of a container or a Pod, as JSON.
type shapeResources struct {
	Requests json.RawMessage `json:"requests"`
	Limits   json.RawMessage `json:"limits"`
}

// effective returns the requests as JSON, with the limits for which there is no request.
func (r *shapeResources) effective() json.RawMessage {
	var all, limits map[string]json.RawMessage
	if json.Unmarshal(r.Limits, &limits) != nil || len(limits) == 0 {
		return r.Requests
	}
	if json.Unmarshal(r.Requests, &all) != nil || len(all) == 0 {
		return r.Limits
	}
	for name, quantity := range limits {
		if _, isRequested := all[name]; !isRequested {
			all[name] = quantity
		}
	}
	merged, err := json.Marshal(all)
	if err != nil {
		return r.Requests
	}
	return merged
}

// IsLike reports whether Kueue treats two Workloads of one queue as equal, so
// that the result for one holds for the other: same priority, same counts,
// same Pods as far as they are scheduled by (docs/reference/scheduling.md#order).
func (w *Workload) IsLike(o *Workload) bool {
	return deref(w.Spec.Priority) == deref(o.Spec.Priority) && len(w.Spec.PodSets) > 0 &&
		slices.EqualFunc(w.Spec.PodSets, o.Spec.PodSets, func(a, b PodSet) bool {
			return a.Name == b.Name && a.Count == b.Count && deref(a.MinCount) == deref(b.MinCount) &&
				a.Template.Spec == b.Template.Spec && a.Topology == b.Topology
		})
}

func deref(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}
