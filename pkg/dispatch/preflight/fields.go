package preflight

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// dropped is a field that a server did not store.
type dropped struct {
	// path is the path, such as "spec.template.spec.initContainers[0].restartPolicy".
	path string
	// matters is whether the Job behaves differently without the field. since is the first
	// Kubernetes version that knows it; "" if unknown.
	matters bool
	since   string
}

// droppedFields returns the fields of a Job's spec that a server would not store. It ignores
// empty values, and fields that the server changed or added.
func droppedFields(sent, stored *unstructured.Unstructured) []dropped {
	spec, _, _ := unstructured.NestedMap(sent.Object, "spec")
	var fields []dropped
	lost := content.LostIn("spec", sent.Object["spec"], stored.Object["spec"])
	for _, p := range append(lost, lostChoices(sent, stored, lost)...) {
		if isDefault(p, spec) {
			continue
		}
		field := dropped{path: p.Path}
		if i := slices.IndexFunc(significantFields(), func(m significantField) bool { return m.covers(p.Path) }); i >= 0 {
			field.matters, field.since = true, significantFields()[i].since
		}
		fields = append(fields, field)
	}
	return fields
}

// isDefault reports whether a field had the default of newer servers. Older servers, which do not
// know the field, behave in the same way (kubernetes: pkg/apis/batch/v1/defaults.go).
func isDefault(l content.Lost, spec map[string]any) bool {
	switch l.Path {
	case "spec.completionMode":
		return l.Value == "NonIndexed"
	case "spec.podReplacementPolicy":
		return l.Value == "TerminatingOrFailed" || spec["podFailurePolicy"] != nil
	case "spec.template.spec.hostUsers":
		return l.Value == true
	}
	return strings.HasSuffix(l.Path, ".httpGet.protocol") && l.Value == "HTTP1" ||
		strings.HasSuffix(l.Path, ".grpc.mode") && l.Value == "Plaintext"
}

// lostChoices returns fields that change the Job even if they are empty, and that a server does
// not store: Pods that start together or are disrupted together. Their alternatives, basic and
// single, are the behaviour without the fields. It omits fields inside the lost fields that are
// already reported.
func lostChoices(sent, stored *unstructured.Unstructured, reported []content.Lost) []content.Lost {
	var lost []content.Lost
	for _, path := range [][]string{{"spec", "scheduling", "schedulingPolicy", "gang"}, {"spec", "scheduling", "disruptionMode", "all"}} {
		choice := content.MapAt(sent, path...)
		if choice == nil || len(choice) > 0 || content.At(stored, path...) != nil {
			continue
		}
		l := content.Lost{Path: content.Dotted(path), Value: choice}
		if !slices.ContainsFunc(reported, func(t content.Lost) bool { return strings.HasPrefix(l.Path, t.Path+".") }) {
			lost = append(lost, l)
		}
	}
	return lost
}

// significantField is a field without which a Job behaves differently. In its path, [] matches
// any element of a list, and * one or more fields.
type significantField struct{ path, since string }

func (c significantField) covers(path string) bool {
	path = anyIndex.ReplaceAllString(path, "[]")
	if parent, field, isBelow := strings.Cut(c.path, ".*."); isBelow {
		return strings.HasPrefix(path, parent+".") && strings.HasSuffix(path, "."+field)
	}
	rest, ok := strings.CutPrefix(path, c.path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// anyIndex matches the index of a list's element in a path.
var anyIndex = regexp.MustCompile(`\[\d+\]`)

// significantFields returns the fields without which a Job behaves differently, with the version
// that enables their feature gates by default (kubernetes: pkg/features/kube_features.go).
func significantFields() []significantField {
	const pod = "spec.template.spec."
	return []significantField{
		{"spec.managedBy", "1.32"},
		{"spec.successPolicy", "1.31"},
		{"spec.backoffLimitPerIndex", "1.29"},
		{"spec.maxFailedIndexes", "1.29"},
		{"spec.podReplacementPolicy", "1.29"},
		{"spec.podFailurePolicy", "1.26"},
		{"spec.completionMode", "1.22"},
		{"spec.suspend", "1.22"},
		{"spec.scheduling", ""},
		{pod + "initContainers[].restartPolicy", "1.29"},
		{pod + "initContainers[].restartPolicyRules", "1.35"},
		{pod + "containers[].restartPolicy", "1.35"},
		{pod + "containers[].restartPolicyRules", "1.35"},
		{pod + "initContainers[].resources", ""},
		{pod + "containers[].resources", ""},
		{pod + "initContainers[].env", ""},
		{pod + "containers[].env", ""},
		{pod + "initContainers[].volumeMounts[].bindMountOptions", ""},
		{pod + "containers[].volumeMounts[].bindMountOptions", ""},
		{pod + "initContainers[].*.grpc.mode", ""},
		{pod + "containers[].*.grpc.mode", ""},
		{pod + "initContainers[].*.httpGet.protocol", ""},
		{pod + "containers[].*.httpGet.protocol", ""},
		{pod + "resourceClaims", "1.34"},
		{pod + "schedulingGates", "1.27"},
		{pod + "schedulingGroup", ""},
		{pod + "workloadRef", ""},
		{pod + "resources", "1.34"},
		{pod + "volumes[].image", "1.35"},
		{pod + "volumes", ""},
		{pod + "hostUsers", "1.33"},
	}
}

// drops returns the Problems for fields of the mirror or the origin that a server would drop. For
// kinds other than Job, it is unknown which fields matter.
func (c *check) drops(p Probe, version serverVersion, fields []dropped) []Problem {
	if c.kind.IsJob() || len(fields) == 0 {
		return p.tooOld(version, fields)
	}
	paths := make([]string, len(fields))
	for i, f := range fields {
		paths[i] = f.path
	}
	return []Problem{{
		Context: p.Context, Object: labelled("the API of " + c.kind.Resource.GroupResource().String()),
		Message: fmt.Sprintf("drops %s; the %s runs without it", strings.Join(paths, ", "), c.kind.Kind),
		Remedy:  "if that matters, install the same version as on the cluster of the origin",
	}}
}

// tooOld returns the Problems for fields that a server would drop: one for fields that change the
// Job's behaviour, and one for the others.
func (p Probe) tooOld(version serverVersion, fields []dropped) []Problem {
	var matter, rest []string
	for _, f := range fields {
		switch {
		case !f.matters:
			rest = append(rest, f.path)
		case f.since == "":
			matter = append(matter, f.path)
		default:
			matter = append(matter, fmt.Sprintf("%s (known from Kubernetes %s on)", f.path, f.since))
		}
	}
	var found []Problem
	if len(matter) > 0 {
		found = append(found, Problem{
			Context: p.Context, Blocking: true,
			Message: fmt.Sprintf("the API server (%s) drops %s, so the Job would behave differently there", version.text, strings.Join(matter, ", ")),
			Remedy:  "choose a cluster that knows it, or remove it from the Job. In a new enough cluster, enable its feature gate",
		})
	}
	if len(rest) > 0 {
		found = append(found, Problem{
			Context: p.Context,
			Message: fmt.Sprintf("the API server (%s) drops %s; the Job runs without it", version.text, strings.Join(rest, ", ")),
		})
	}
	return found
}
