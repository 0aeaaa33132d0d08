package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
)

// reference is a ConfigMap or Secret to which Pods refer.
type reference struct {
	kind, name string
	// optional is whether the Pods start without the object. soft is whether they start without
	// it but may fail later.
	optional, soft bool
	// keys are the required keys, each with the part of the Pod that needs it.
	keys map[string]string
	// by is the part of the Pod that refers to it: "volume settings" or "container main".
	by string
}

// references collects references, one for each object.
type references map[dependency.Object]*reference

// add adds a reference. An object is optional only if all references to it are.
func (r references) add(kind, name, by string, optional bool, keys ...string) *reference {
	if name == "" {
		return &reference{}
	}
	ref := r[dependency.Object{Kind: kind, Name: name}]
	if ref == nil {
		ref = &reference{kind: kind, name: name, by: by, optional: true, keys: map[string]string{}}
		r[dependency.Object{Kind: kind, Name: name}] = ref
	}
	if optional {
		return ref
	}
	if ref.optional {
		ref.optional, ref.by = false, by
	}
	ref.soft = false
	for _, key := range keys {
		if _, ok := ref.keys[key]; !ok {
			ref.keys[key] = by
		}
	}
	return ref
}

// referencesOf returns the ConfigMaps and Secrets to which Pods refer, ConfigMaps first, then by
// name. Templates have no ephemeral containers.
func referencesOf(templates []pods) []reference {
	all := references{}
	for _, p := range templates {
		all.addPods(&p)
	}
	for _, p := range templates {
		for _, secret := range p.spec.ImagePullSecrets {
			// The kubelet ignores missing image pull Secrets (kubelet_pods.go,
			// getPullSecretsForPod), which suffices for public images.
			if _, ok := all[dependency.Object{Kind: dependency.Secret, Name: secret.Name}]; !ok && secret.Name != "" {
				all.add(dependency.Secret, secret.Name, "imagePullSecrets", false).soft = true
			}
		}
	}
	sorted := make([]reference, 0, len(all))
	for _, ref := range all {
		sorted = append(sorted, *ref)
	}
	slices.SortFunc(sorted, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	return sorted
}

func (r references) addPods(p *pods) {
	for _, container := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		r.addContainer(&container)
	}
	for _, volume := range p.spec.Volumes {
		r.addVolume(&volume)
	}
	for _, volume := range content.Objects(p.Pod()["volumes"]) {
		r.addSources(volume)
	}
}

func (r references) addContainer(c *corev1.Container) {
	by := "container " + c.Name
	for _, source := range c.EnvFrom {
		if ref := source.ConfigMapRef; ref != nil {
			r.add(dependency.ConfigMap, ref.Name, by, isTrue(ref.Optional))
		}
		if ref := source.SecretRef; ref != nil {
			r.add(dependency.Secret, ref.Name, by, isTrue(ref.Optional))
		}
	}
	for _, variable := range c.Env {
		if variable.ValueFrom == nil {
			continue
		}
		if ref := variable.ValueFrom.ConfigMapKeyRef; ref != nil {
			r.add(dependency.ConfigMap, ref.Name, by, isTrue(ref.Optional), ref.Key)
		}
		if ref := variable.ValueFrom.SecretKeyRef; ref != nil {
			r.add(dependency.Secret, ref.Name, by, isTrue(ref.Optional), ref.Key)
		}
	}
}

func (r references) addVolume(v *corev1.Volume) {
	by := "volume " + v.Name
	if source := v.ConfigMap; source != nil {
		r.add(dependency.ConfigMap, source.Name, by, isTrue(source.Optional), keysOf(source.Items)...)
	}
	if source := v.Secret; source != nil {
		r.add(dependency.Secret, source.SecretName, by, isTrue(source.Optional), keysOf(source.Items)...)
	}
	if v.Projected == nil {
		return
	}
	for _, projection := range v.Projected.Sources {
		if source := projection.ConfigMap; source != nil {
			r.add(dependency.ConfigMap, source.Name, by, isTrue(source.Optional), keysOf(source.Items)...)
		}
		if source := projection.Secret; source != nil {
			r.add(dependency.Secret, source.Name, by, isTrue(source.Optional), keysOf(source.Items)...)
		}
	}
}

// addSources adds the Secrets of all other types of volumes. Most types have them in the same
// field.
func (r references) addSources(fields map[string]any) {
	by := fmt.Sprint("volume ", fields["name"])
	for _, kind := range slices.Sorted(maps.Keys(fields)) {
		source, ok := fields[kind].(map[string]any)
		if !ok {
			continue
		}
		for _, field := range []string{"secretRef", "nodePublishSecretRef"} {
			name, _, _ := unstructured.NestedString(source, field, "name")
			r.add(dependency.Secret, name, by, false)
		}
		if kind == "azureFile" {
			name, _, _ := unstructured.NestedString(source, "secretName")
			r.add(dependency.Secret, name, by, false)
		}
	}
}

func keysOf(items []corev1.KeyToPath) []string {
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = item.Key
	}
	return keys
}

func isTrue(b *bool) bool { return b != nil && *b }
