package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// errNoWebhook and errNoDeployment are why Kueue's installation was not found although everything
// could be read.
var (
	errNoWebhook    = errors.New("no webhook for kueue.x-k8s.io names a Service")
	errNoDeployment = errors.New("no Deployment has the Pods of the webhook's Service")
)

// readInstallation finds the Deployment of Kueue without guessing its name: its webhook names a
// Service, which selects the Deployment's Pods.
func (r *factReader) readInstallation(ctx context.Context) {
	r.read(inspect.PartInstallation, func() error {
		found, err := findInstallation(ctx, r.cluster)
		r.store(func() { r.facts.Setup.Installation = found })
		return err
	})
}

// readRelease reads the version of Kueue's controller and where it runs. Nothing depends on it, so a
// failure is not a gap.
func (r *factReader) readRelease(ctx context.Context) {
	r.wg.Go(func() {
		if found, _ := findInstallation(ctx, r.cluster); found != nil {
			r.store(func() { r.facts.Kueue.Release, r.facts.Kueue.Home = found.Version, &found.Home })
		}
	})
}

// webhooks has the needed fields of a MutatingWebhookConfiguration.
type webhooks struct {
	Webhooks []struct {
		ClientConfig struct {
			Service *struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"service"`
		} `json:"clientConfig"`
		Rules []struct {
			APIGroups []string `json:"apiGroups"`
		} `json:"rules"`
	} `json:"webhooks"`
}

// kueueService returns the Service that serves a webhook for Kueue's own API group.
func (w *webhooks) kueueService() (namespace, name string) {
	for i := range w.Webhooks {
		for _, rule := range w.Webhooks[i].Rules {
			if service := w.Webhooks[i].ClientConfig.Service; service != nil && slices.Contains(rule.APIGroups, kueue.Group) {
				return service.Namespace, service.Name
			}
		}
	}
	return "", ""
}

// deployment has the needed fields of a Deployment.
type deployment struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Replicas *int32 `json:"replicas"`
		Template struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Spec     struct {
				Containers []struct {
					Image string   `json:"image"`
					Args  []string `json:"args"`
				} `json:"containers"`
				Volumes []struct {
					ConfigMap *struct {
						Name string `json:"name"`
					} `json:"configMap"`
				} `json:"volumes"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ReadyReplicas int32 `json:"readyReplicas"`
	} `json:"status"`
}

// installation returns the facts about Kueue that its Deployment shows.
func (d *deployment) installation() *kueue.Installation {
	i := &kueue.Installation{
		Home: kueue.Home{Namespace: d.Metadata.Namespace, Deployment: d.Metadata.Name}, Replicas: 1, Ready: d.Status.ReadyReplicas,
		GateFlags: map[string]bool{},
	}
	if d.Spec.Replicas != nil {
		i.Replicas = *d.Spec.Replicas
	}
	pod := &d.Spec.Template.Spec
	for _, c := range pod.Containers {
		isController := slices.ContainsFunc(c.Args, func(arg string) bool { return strings.Contains(arg, "config") })
		if version := kueue.ImageVersion(c.Image); i.Version == "" || isController {
			i.Version = cmp.Or(version, i.Version)
		}
		for gate, on := range kueue.GatesIn(c.Args) {
			i.GateFlags[gate] = on
		}
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && i.ConfigMap == "" {
			i.ConfigMap = v.ConfigMap.Name
		}
	}
	return i
}

// findInstallation returns the facts that it finds, with an error if they are incomplete.
func findInstallation(ctx context.Context, c *fleet.Cluster) (*kueue.Installation, error) {
	namespace, service := "", ""
	configurations := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	err := listObjects(ctx, c, configurations, "", metav1.ListOptions{}, func(w *webhooks) {
		if ns, name := w.kueueService(); name != "" && service == "" {
			namespace, service = ns, name
		}
	})
	if err == nil && service == "" {
		err = errNoWebhook
	}
	if err != nil {
		return nil, err
	}
	found, err := findDeployment(ctx, c, namespace, service)
	if err != nil {
		return nil, err
	}
	installation := found.installation()
	if installation.ConfigMap != "" {
		installation.Config, err = readConfiguration(ctx, c, namespace, installation.ConfigMap)
	} else {
		installation.Config = &kueue.Configuration{}
	}
	return installation, err
}

// findDeployment returns the Deployment behind a Service.
func findDeployment(ctx context.Context, c *fleet.Cluster, namespace, service string) (*deployment, error) {
	type selecting struct {
		Spec struct {
			Selector map[string]string `json:"selector"`
		} `json:"spec"`
	}
	behind, err := Get[selecting](ctx, c, corev1.SchemeGroupVersion.WithResource("services"), namespace, service)
	if err != nil {
		return nil, err
	}
	var found *deployment
	if behind != nil && len(behind.Spec.Selector) > 0 {
		selector := labels.SelectorFromSet(behind.Spec.Selector)
		deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		err = listObjects(ctx, c, deployments, namespace, metav1.ListOptions{}, func(d *deployment) {
			if found == nil && selector.Matches(labels.Set(d.Spec.Template.Metadata.Labels)) {
				found = d
			}
		})
	}
	if err == nil && found == nil {
		err = errNoDeployment
	}
	return found, err
}

// readConfiguration reads Kueue's configuration. Fields of other versions are ignored.
func readConfiguration(ctx context.Context, c *fleet.Cluster, namespace, name string) (*kueue.Configuration, error) {
	type data struct {
		Data map[string]string `json:"data"`
	}
	found, err := Get[data](ctx, c, corev1.SchemeGroupVersion.WithResource("configmaps"), namespace, name)
	if err != nil {
		return nil, err
	}
	if found == nil || found.Data[kueue.ConfigKey] == "" {
		return nil, fmt.Errorf("ConfigMap %s/%s has no key %s", namespace, name, kueue.ConfigKey)
	}
	config, err := kueue.ParseConfiguration(found.Data[kueue.ConfigKey])
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %s is invalid: %w", namespace, name, kueue.ConfigKey, err)
	}
	return config, nil
}
