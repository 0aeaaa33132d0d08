package kueue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// ResourceFlavor says which nodes a quota is for.
type ResourceFlavor struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              FlavorSpec `json:"spec"`
}

// FlavorSpec is the spec of a ResourceFlavor.
type FlavorSpec struct {
	NodeLabels   map[string]string   `json:"nodeLabels,omitempty"`
	NodeTaints   []corev1.Taint      `json:"nodeTaints,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
	TopologyName string              `json:"topologyName,omitempty"`
}

func (s *FlavorSpec) isEmpty() bool {
	return len(s.NodeLabels)+len(s.NodeTaints)+len(s.Tolerations) == 0 && s.TopologyName == ""
}

// FlavorOn is a ResourceFlavor of the cluster of a context.
type FlavorOn struct {
	Context string
	*ResourceFlavor
}

// flavorNotFound is the reason of the condition Active if a ResourceFlavor does not exist.
const flavorNotFound = "FlavorNotFound"

// missingNames matches the names that Kueue lists in the condition Active (kueue:
// pkg/cache/scheduler/clusterqueue.go).
var missingNames = regexp.MustCompile(`missing ResourceFlavor\(s\): ([a-z0-9][a-z0-9.,-]*[a-z0-9]|[a-z0-9])`)

// missingFlavors returns the ResourceFlavors without which the ClusterQueue is inactive, according
// to Kueue. It leaves out flavors that were created since.
func (s FixTarget) missingFlavors() []string {
	active := meta.FindStatusCondition(s.ClusterQueue.Status.Conditions, Active)
	if active == nil || active.Status != metav1.ConditionFalse {
		return nil
	}
	var names []string
	if m := missingNames.FindStringSubmatch(active.Message); m != nil {
		names = strings.Split(m[1], ",")
	} else if active.Reason == flavorNotFound && len(s.Topologies.Flavors) > 0 {
		names = s.ClusterQueue.flavorNames()
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(s.Topologies.Flavors, func(f *ResourceFlavor) bool { return f.Name == name })
	})
}

// provideFlavors returns the fixes of a ClusterQueue that names ResourceFlavors that do not exist. A name
// that no cluster has is probably wrong.
func (s FixTarget) provideFlavors(names ...string) []command.Fix {
	if len(names) == 0 {
		return nil
	}
	fixes := []command.Fix{s.createFlavors(names...)}
	if s.ClusterQueue == nil {
		return fixes
	}
	what := "the flavor's name"
	if len(names) > 1 {
		what = "the flavors' names"
	}
	rename := fixBy(Kubectl(s.Context, "edit", "ClusterQueue", "", s.ClusterQueue.Name), "correct %s in ClusterQueue %s on %s", what, s.ClusterQueue.Name, s.Context)
	isUnlike := func(name string) bool {
		_, ok := s.flavorLike(name)
		return !ok
	}
	if slices.ContainsFunc(names, isUnlike) {
		return append([]command.Fix{rename}, fixes...)
	}
	return append(fixes, rename)
}

// createFlavors returns how to create ResourceFlavors, each like one of its name on another cluster.
// Without labels, a flavor would give its quota to Pods on any node.
func (s FixTarget) createFlavors(names ...string) command.Fix {
	var items []any
	var texts []string
	isUnlabelled := false
	for _, name := range names {
		object := map[string]any{"apiVersion": s.apiVersion(), "kind": "ResourceFlavor", "metadata": map[string]any{"name": name}}
		like, ok := s.flavorLike(name)
		text := fmt.Sprintf("%s on %s (no ResourceFlavor of this name was read)", name, s.Context)
		if !ok {
			isUnlabelled = true
			object["spec"] = map[string]any{"nodeLabels": map[string]any{labelPlaceholder: valuePlaceholder}}
		} else {
			text = fmt.Sprintf("%s on %s, like that on %s%s", name, s.Context, like.Context, s.lacksTopology(like))
			if !like.Spec.isEmpty() {
				object["spec"] = like.Spec
			}
		}
		items, texts = append(items, object), append(texts, text)
	}
	text := "create ResourceFlavor " + strings.Join(texts, " and ")
	if isUnlabelled {
		text += ". Replace " + replaceLabel
	}
	if len(items) == 1 {
		return command.Fix{Text: text, Command: create(s.Context, items[0])}
	}
	return command.Fix{Text: text, Command: create(s.Context, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})}
}

// lacksTopology says that the Topology of a flavor does not exist on the target, "" if it does.
func (s FixTarget) lacksTopology(like FlavorOn) string {
	name := like.Spec.TopologyName
	if name == "" || !s.Topologies.IsRead || slices.Contains(s.Topologies.names(), name) {
		return ""
	}
	return fmt.Sprintf(" (create Topology %s first)", name)
}

// flavorLike returns a ResourceFlavor of another cluster with some name, preferably one that says
// which nodes it is for.
func (s FixTarget) flavorLike(name string) (like FlavorOn, ok bool) {
	for _, f := range s.Flavors {
		if f.Name != name || f.Context == s.Context {
			continue
		}
		if !f.Spec.isEmpty() {
			return f, true
		}
		if !ok {
			like, ok = f, true
		}
	}
	return like, ok
}
