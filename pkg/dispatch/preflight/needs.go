package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// versions are the versions in which an object may be served, newest first.
func versions(v ...schema.GroupVersionResource) []schema.GroupVersionResource { return v }

// need is a required object of any kind except ConfigMap and Secret.
type need struct {
	kind, namespace, name string
	// message and remedy are for the Problem if the object is missing.
	message  string
	remedy   command.Prose
	versions []schema.GroupVersionResource
	blocks   bool
}

// need checks a required object. An empty name needs nothing.
func (c *check) need(ctx context.Context, n need) []Problem {
	if n.name == "" {
		return nil
	}
	if wrong := c.worker.invalidName(n.kind, n.namespace, n.name, "the Pods' template"); wrong != nil {
		wrong[0].Blocking = n.blocks
		return wrong
	}
	about := named(n.kind, n.namespace, n.name)
	found, err := c.worker.Find(ctx, n.namespace, n.name, n.versions...)
	switch {
	case err != nil:
		return []Problem{c.worker.unchecked(about, n.namespace, err)}
	case found == nil:
		return []Problem{c.addRemedy(ctx, Problem{Context: c.worker.Context, Blocking: n.blocks, Object: about, Message: n.message, Remedy: n.remedy})}
	}
	return nil
}

// all checks several required objects.
func (c *check) all(ctx context.Context, needs []need) []Problem {
	checks := make([]checkFunc, len(needs))
	for i, n := range needs {
		checks[i] = func(ctx context.Context) []Problem { return c.need(ctx, n) }
	}
	return distinct(runConcurrently(ctx, checks...))
}

// volumes returns the volumes of all Pods.
func (c *check) volumes() []corev1.Volume {
	var all []corev1.Volume
	for _, p := range c.templates {
		all = append(all, p.spec.Volumes...)
	}
	return all
}

// claims checks the PersistentVolumeClaims.
func (c *check) claims(ctx context.Context) []Problem {
	var checks []checkFunc
	for _, v := range c.volumes() {
		if v.PersistentVolumeClaim != nil {
			checks = append(checks, func(ctx context.Context) []Problem { return c.claim(ctx, v.Name, v.PersistentVolumeClaim.ClaimName) })
		}
	}
	return distinct(runConcurrently(ctx, checks...))
}

func (c *check) claim(ctx context.Context, volume, name string) []Problem {
	if wrong := c.worker.invalidName("PersistentVolumeClaim", c.namespace(), name, "volume "+volume); wrong != nil {
		return wrong
	}
	p := Problem{Context: c.worker.Context, Blocking: true, Object: named("PersistentVolumeClaim", c.namespace(), name)}
	found, err := c.worker.Find(ctx, c.namespace(), name, corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"))
	if err != nil {
		return []Problem{c.worker.unchecked(p.Object, c.namespace(), err)}
	}
	describe := c.worker.Kubectl(c.namespace(), "describe", "pvc", name)
	if found == nil {
		p.Message = fmt.Sprintf("does not exist, and volume %s needs it", volume)
		p.Remedy = command.Say("create it there, with its data; if %s has one, this shows it: %s", c.origin.Context, c.origin.Kubectl(c.Request.Origin.GetNamespace(), "get", "pvc", name, "-o", "yaml"))
		return []Problem{p}
	}
	phase, _, _ := unstructured.NestedString(found.Object, "status", "phase")
	switch {
	case found.GetDeletionTimestamp() != nil:
		p.Message = fmt.Sprintf("is being deleted, and volume %s needs it", volume)
		p.Remedy = command.Say("find its users: %s", describe)
	case phase == string(corev1.ClaimLost):
		p.Message, p.Remedy = "has lost its volume", command.Say("find out why: %s", describe)
	case phase == string(corev1.ClaimPending):
		class, waits, err := c.waitsForPods(ctx, found)
		if err == nil && waits {
			return nil
		}
		p.Blocking = false
		p.Message, p.Remedy = "has no volume yet, and the Pods wait for that", command.Say("find out why: %s", describe)
		if err != nil {
			p.Message = fmt.Sprintf("has no volume yet, which is fine if StorageClass %s waits for Pods; cannot check that: %s", class, kubecontext.Because(err))
		}
	default:
		return nil
	}
	return []Problem{p}
}

// waitsForPods reports whether the StorageClass of a claim delays its volume until a Pod uses it.
func (c *check) waitsForPods(ctx context.Context, claim *unstructured.Unstructured) (name string, waits bool, err error) {
	name, _, _ = unstructured.NestedString(claim.Object, "spec", "storageClassName")
	if name == "" {
		return "", false, nil
	}
	class, err := c.worker.Find(ctx, "", name, storageClasses())
	if err != nil || class == nil {
		return name, false, err
	}
	mode, _, _ := unstructured.NestedString(class.Object, "volumeBindingMode")
	return name, mode == string(storagev1.VolumeBindingWaitForFirstConsumer), nil
}

func storageClasses() schema.GroupVersionResource {
	return storagev1.SchemeGroupVersion.WithResource("storageclasses")
}

// storageClasses checks the StorageClasses of claims that are created for each Pod.
func (c *check) storageClasses(ctx context.Context) []Problem {
	var needs []need
	for _, v := range c.volumes() {
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil || v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName == nil {
			continue
		}
		needs = append(needs, need{
			kind: "StorageClass", name: *v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName,
			message: fmt.Sprintf("does not exist, and the claims of volume %s name it", v.Name),
			remedy:  command.Say("name an existing one in the %s: %s", c.kind.Kind, c.worker.Kubectl("", "get", "storageclasses")),
			blocks:  true, versions: versions(storageClasses()),
		})
	}
	for _, claim := range c.claimTemplates() {
		class, _ := content.In(claim, "spec", "storageClassName").(string)
		needs = append(needs, need{
			kind: "StorageClass", name: class,
			message: fmt.Sprintf("does not exist, and the template of claim %v names it", content.In(claim, "metadata", "name")),
			remedy:  command.Say("name an existing one in the %s: %s", c.kind.Kind, c.worker.Kubectl("", "get", "storageclasses")),
			blocks:  true, versions: versions(storageClasses()),
		})
	}
	return c.all(ctx, needs)
}

// claimTemplates returns the templates of the claims that the kind's controller creates for the
// Pods.
func (c *check) claimTemplates() []map[string]any {
	if len(c.kind.Claims) == 0 {
		return nil
	}
	return content.ObjectsAt(c.mirror.Object, c.kind.Claims...)
}

// drivers checks the CSI drivers of inline volumes.
func (c *check) drivers(ctx context.Context) []Problem {
	var needs []need
	for _, v := range c.volumes() {
		if v.CSI == nil {
			continue
		}
		needs = append(needs, need{
			kind: "CSIDriver", name: v.CSI.Driver,
			message:  fmt.Sprintf("seems not to be installed, and volume %s needs it", v.Name),
			remedy:   command.Say("existing ones: %s", c.worker.Kubectl("", "get", "csidrivers")),
			versions: versions(storagev1.SchemeGroupVersion.WithResource("csidrivers")),
		})
	}
	return c.all(ctx, needs)
}

// trustBundles checks the ClusterTrustBundles that volumes name. It skips those that are selected
// by signer and labels, because they may be created later.
func (c *check) trustBundles(ctx context.Context) []Problem {
	var needs []need
	for _, v := range c.volumes() {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			bundle := source.ClusterTrustBundle
			if bundle == nil || bundle.Name == nil || isTrue(bundle.Optional) {
				continue
			}
			needs = append(needs, need{
				kind: "ClusterTrustBundle", name: *bundle.Name,
				message: fmt.Sprintf("does not exist, and volume %s needs it", v.Name),
				remedy:  command.Say("have it created. Existing ones: %s", c.worker.Kubectl("", "get", "clustertrustbundles")), blocks: true,
				versions: versions(schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1", Resource: "clustertrustbundles"},
					certificatesv1beta1.SchemeGroupVersion.WithResource("clustertrustbundles"),
					certificatesv1alpha1.SchemeGroupVersion.WithResource("clustertrustbundles")),
			})
		}
	}
	return c.all(ctx, needs)
}

// resourceClaims checks the ResourceClaims and ResourceClaimTemplates. A server that does not
// serve them has none.
func (c *check) resourceClaims(ctx context.Context) []Problem {
	var claims []map[string]any
	for _, p := range c.templates {
		claims = append(claims, content.ObjectsAt(p.Pod(), "resourceClaims")...)
	}
	if c.kind.IsJob() {
		// All Pods of a Job share these (Kubernetes 1.37).
		claims = append(claims, content.ObjectsAt(c.mirror.Object, "spec", "scheduling", "resourceClaims")...)
	}
	var needs []need
	for _, claim := range claims {
		for kind, field := range map[string]string{"ResourceClaim": "resourceClaimName", "ResourceClaimTemplate": "resourceClaimTemplateName"} {
			name, _ := claim[field].(string)
			plural := strings.ToLower(delegation.Plural(kind))
			needs = append(needs, need{
				kind: kind, namespace: c.namespace(), name: name,
				message:  fmt.Sprintf("does not exist, and the Pods' resource claim %v needs it", claim["name"]),
				remedy:   command.Say("create it there, like the one of the origin: %s", c.origin.Kubectl(c.Request.Origin.GetNamespace(), "get", plural, name, "-o", "yaml")),
				versions: ofGroup("resource.k8s.io", plural, "v1", "v1beta2", "v1beta1"), blocks: true,
			})
		}
	}
	return c.all(ctx, needs)
}

// ofGroup returns versions of a resource, newest first.
func ofGroup(group, plural string, named ...string) []schema.GroupVersionResource {
	all := make([]schema.GroupVersionResource, len(named))
	for i, version := range named {
		all[i] = schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
	}
	return all
}

// podGroups checks the PodGroups that templates name: the scheduler ignores Pods of a missing
// group (kubernetes: KEP-4671). A server that does not serve PodGroups drops the field, which is
// reported separately.
func (c *check) podGroups(ctx context.Context) []Problem {
	var needs []need
	for _, p := range c.templates {
		name, _ := content.In(p.Pod(), "schedulingGroup", "podGroupName").(string)
		needs = append(needs, need{
			kind: "PodGroup", namespace: c.namespace(), name: name,
			message: "does not exist, and the Pods wait for it (schedulingGroup)",
			remedy: command.Say("create it there, like the one of the origin: %s",
				c.origin.Kubectl(c.Request.Origin.GetNamespace(), "get", "podgroups.scheduling.k8s.io", name, "-o", "yaml")),
			versions: ofGroup("scheduling.k8s.io", "podgroups", "v1beta1", "v1alpha3", "v1alpha2"), blocks: true,
		})
	}
	return c.all(ctx, needs)
}

// subdomain checks the Service that gives Pods their hostnames.
func (c *check) subdomain(ctx context.Context, of *pods) []Problem {
	name := of.spec.Subdomain
	return c.need(ctx, need{
		kind: "Service", namespace: c.namespace(), name: name,
		message:  "does not exist; it is the subdomain of the Pods, which find each other by name only with it",
		remedy:   command.Say("%s, with the labels of the Pods as its selector", c.worker.Kubectl(c.namespace(), "create", "service", "clusterip", name, "--clusterip=None")),
		versions: versions(corev1.SchemeGroupVersion.WithResource("services")),
	})
}

// otherWarnings returns warnings about fields that no API server checks.
func (c *check) otherWarnings(_ context.Context, of *pods) []Problem {
	var found []Problem
	warn := func(format string, args ...any) {
		found = append(found, Problem{Context: c.worker.Context, Message: fmt.Sprintf(format, args...)})
	}
	spec := of.spec
	if spec.SchedulerName != "" && spec.SchedulerName != corev1.DefaultSchedulerName {
		warn("the Pods stay pending unless scheduler %s runs there", spec.SchedulerName)
	}
	for _, gate := range spec.SchedulingGates {
		warn("the Pods stay pending until their scheduling gate %s is removed", gate.Name)
	}
	var paths []string
	for _, v := range spec.Volumes {
		if v.HostPath != nil {
			paths = append(paths, v.HostPath.Path)
		}
	}
	slices.Sort(paths)
	if len(paths) > 0 {
		warn("the Pods mount %s of their nodes, which may differ there", strings.Join(slices.Compact(paths), ", "))
	}
	return found
}
