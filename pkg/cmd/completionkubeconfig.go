package cmd

import (
	"context"
	"maps"
	"slices"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
)

// contexts are those of the kubeconfig, or of the bundle.
func (c *completer) contexts(_ context.Context, _ word, found *choices) {
	if c.flags.from == "" {
		c.entries(func(config *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(config.Contexts)) }, found)
		return
	}
	b, err := bundle.Open(c.flags.from)
	if err != nil {
		return
	}
	for _, one := range b.Contexts() {
		found.add(one.Name)
	}
}

// otherContexts are all but the one that the Jobs are in.
func (c *completer) otherContexts(_ context.Context, _ word, found *choices) {
	c.entries(func(config *clientcmdapi.Config) []string {
		here := config.CurrentContext
		if *c.flags.kube.Context != "" {
			here = *c.flags.kube.Context
		}
		names := slices.Collect(maps.Keys(config.Contexts))
		return slices.DeleteFunc(names, func(name string) bool { return name == here })
	}, found)
}

// clusters are the kubeconfig's, and so are users.
func (c *completer) clusters(_ context.Context, _ word, found *choices) {
	c.entries(func(config *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(config.Clusters)) }, found)
}

func (c *completer) users(_ context.Context, _ word, found *choices) {
	c.entries(func(config *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(config.AuthInfos)) }, found)
}

// entries adds names of a kubeconfig's entries.
func (c *completer) entries(of func(*clientcmdapi.Config) []string, found *choices) {
	config, err := c.flags.kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return
	}
	for _, name := range of(&config) {
		found.add(name)
	}
}
