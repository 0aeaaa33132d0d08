package complete

import (
	"context"
	"maps"
	"slices"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
)

// Contexts adds the contexts of the kubeconfig, or of the bundle.
func (c *Completer) Contexts(_ context.Context, _ word, found *choices) {
	if c.flags.From == "" {
		c.entries(func(config *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(config.Contexts)) }, found)
		return
	}
	names, err := bundle.ContextNames(c.flags.From)
	if err != nil {
		return
	}
	for _, name := range names {
		found.add(name)
	}
}

// OtherContexts adds all contexts but that of the Jobs.
func (c *Completer) OtherContexts(_ context.Context, _ word, found *choices) {
	c.entries(func(config *clientcmdapi.Config) []string {
		current := config.CurrentContext
		if *c.flags.Kube.Context != "" {
			current = *c.flags.Kube.Context
		}
		names := slices.Collect(maps.Keys(config.Contexts))
		return slices.DeleteFunc(names, func(name string) bool { return name == current })
	}, found)
}

// Clusters adds the clusters of the kubeconfig.
func (c *Completer) Clusters(_ context.Context, _ word, found *choices) {
	c.entries(func(config *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(config.Clusters)) }, found)
}

// Users adds the users of the kubeconfig.
func (c *Completer) Users(_ context.Context, _ word, found *choices) {
	c.entries(func(config *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(config.AuthInfos)) }, found)
}

// entries adds the names of a kubeconfig's entries.
func (c *Completer) entries(of func(*clientcmdapi.Config) []string, found *choices) {
	config, err := c.flags.Kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return
	}
	for _, name := range of(&config) {
		found.add(name)
	}
}
