package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Context is an entry of the user's kubeconfig, ready to be connected to.
type Context struct {
	// Name is the context's name in the kubeconfig; "in-cluster" where there is
	// no kubeconfig and the service account of a pod is used, and the server's
	// address where only --server was given.
	Name string
	// Namespace is -n, or else the context's own, or else "default".
	Namespace string
	// Config are the client settings, unthrottled; nil if Err is set.
	Config *rest.Config
	// CA is the Fingerprint of the cluster's certificate authority where Config
	// does not hold it, as in a bundle.
	CA string
	// Bounded is whether only objects of some namespaces can be had, as from a bundle,
	// though nobody refuses to list all.
	Bounded bool
	// Err tells why this entry of the kubeconfig cannot be used.
	Err error
}

// Selection says which contexts of the kubeconfig are wanted. The zero value
// is the current one.
type Selection struct {
	// Patterns are what Select takes.
	Patterns []string
	// All means every context there is; Patterns are then ignored.
	All bool
	// Behind is a context that comes first, and behind it those of Patterns as SelectInOrder
	// takes them, in their order; "" for none.
	Behind string
}

// several says whether more than one context may be meant.
func (s Selection) several() bool { return s.All || len(s.Patterns) > 0 }

// ErrNoKubeconfig is returned where there is no kubeconfig, no --server, and no
// pod's service account.
var ErrNoKubeconfig = errors.New("no kubeconfig")

// RefusedFlagsError is returned for flags that say which cluster or user is
// meant, beside several contexts.
type RefusedFlagsError struct{ Flags, Contexts []string }

func (e *RefusedFlagsError) Error() string {
	return fmt.Sprintf("%s cannot be combined with several contexts (%s): each context has its own",
		strings.Join(e.Flags, ", "), strings.Join(e.Contexts, ", "))
}

// Load reads the kubeconfig as kubectl would with the same flags, and returns
// the selected contexts, the current one first, then by name. Nothing is sent
// to any server. A context whose own entry is broken comes with an Err of its
// own and does not keep the others from being used.
func Load(flags *genericclioptions.ConfigFlags, selection Selection) ([]Context, error) {
	loader := flags.ToRawKubeConfigLoader()
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	current := raw.CurrentContext
	if *flags.Context != "" {
		current = *flags.Context
	}
	names := sortedNames(raw, current)

	nothingChosen := current == "" && !selection.several()
	switch {
	case nothingChosen && (len(names) == 0 || *flags.APIServer != ""):
		return loadWithoutKubeconfig(flags, loader)
	case len(names) == 0:
		return nil, fmt.Errorf("%w: %s", ErrNoKubeconfig, whereLooked(loader))
	}
	if names, err = selection.pick(names, current); err != nil {
		return nil, err
	}
	if used := identityFlags(flags); len(names) > 1 && len(used) > 0 {
		return nil, &RefusedFlagsError{Flags: used, Contexts: names}
	}

	contexts := make([]Context, len(names))
	for i, name := range names {
		contexts[i] = loadContext(raw, name, flags, loader.ConfigAccess())
	}
	return contexts, nil
}

// pick returns the names that are selected.
func (s Selection) pick(names []string, current string) ([]string, error) {
	switch {
	case s.All:
		return names, nil
	case s.Behind != "":
		return s.pickBehind(names)
	case len(s.Patterns) > 0:
		return Select(s.Patterns, names)
	case current == "":
		return nil, fmt.Errorf("the kubeconfig has no current context. Choose one of %s with --context, --contexts or --all-contexts", strings.Join(names, ", "))
	case !slices.Contains(names, current):
		return nil, &UnknownContextError{Pattern: current, Nearest: Nearest(current, names), Available: names}
	}
	return []string{current}, nil
}

// pickBehind returns the one that comes first, and those of the patterns.
func (s Selection) pickBehind(names []string) ([]string, error) {
	if !slices.Contains(names, s.Behind) {
		return nil, &UnknownContextError{Pattern: s.Behind, Nearest: Nearest(s.Behind, names), Available: names}
	}
	selected, err := SelectInOrder(s.Patterns, names)
	if err != nil {
		return nil, err
	}
	selected = slices.DeleteFunc(selected, func(name string) bool { return name == s.Behind })
	return slices.Insert(selected, 0, s.Behind), nil
}

// sortedNames returns the names of all contexts, the current one first.
func sortedNames(raw clientcmdapi.Config, current string) []string {
	return slices.SortedFunc(maps.Keys(raw.Contexts), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == current:
			return -1
		case b == current:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// identityFlags names those of kubectl's flags in use that say which cluster or
// user is meant, and so make sense for a single context only.
func identityFlags(flags *genericclioptions.ConfigFlags) []string {
	var used []string
	for _, f := range []struct{ name, value string }{
		{"--server", *flags.APIServer},
		{"--token", *flags.BearerToken},
		{"--cluster", *flags.ClusterName},
		{"--user", *flags.AuthInfoName},
	} {
		if f.value != "" {
			used = append(used, f.name)
		}
	}
	return used
}

func loadContext(raw clientcmdapi.Config, name string, flags *genericclioptions.ConfigFlags, access clientcmd.ConfigAccess) Context {
	// The kubeconfig was read once, for all contexts; ConfigFlags would read it
	// anew for each of them.
	client := clientcmd.NewNonInteractiveClientConfig(raw, name, overrides(flags), access)
	c := Context{Name: name}
	if c.Err = complete(raw, name, flags); c.Err != nil {
		return c
	}
	if c.Config, c.Err = client.ClientConfig(); c.Err != nil {
		return Context{Name: name, Err: c.Err}
	}
	if c.Namespace, _, c.Err = client.Namespace(); c.Err != nil {
		return Context{Name: name, Err: c.Err}
	}
	if err := prepare(c.Config); err != nil {
		return Context{Name: name, Err: err}
	}
	return c
}

// complete checks that what a context names is there. clientcmd takes a cluster
// that is not there for http://localhost:8080, and a user for nobody, so that
// another cluster's Jobs could be shown under the context's name.
func complete(raw clientcmdapi.Config, name string, flags *genericclioptions.ConfigFlags) error {
	c := raw.Contexts[name]
	cluster, user := cmp.Or(*flags.ClusterName, c.Cluster), cmp.Or(*flags.AuthInfoName, c.AuthInfo)
	entry, ok := raw.Clusters[cluster]
	switch {
	case *flags.APIServer == "" && !ok:
		return fmt.Errorf("the kubeconfig has no cluster %q", cluster)
	case *flags.APIServer == "" && entry.Server == "":
		return fmt.Errorf("the kubeconfig names no server for cluster %q", cluster)
	}
	if _, ok := raw.AuthInfos[user]; user != "" && !ok {
		return fmt.Errorf("the kubeconfig has no user %q", user)
	}
	return nil
}

// loadWithoutKubeconfig serves --server without any context, and pods.
func loadWithoutKubeconfig(flags *genericclioptions.ConfigFlags, loader clientcmd.ClientConfig) ([]Context, error) {
	if *flags.APIServer == "" {
		if _, err := rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrNoKubeconfig, whereLooked(loader))
		}
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("invalid client settings: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("cannot find the namespace: %w", err)
	}
	name := "in-cluster"
	if *flags.APIServer != "" {
		name = *flags.APIServer
	}
	if err := prepare(config); err != nil {
		return nil, fmt.Errorf("invalid client settings: %w", err)
	}
	return []Context{{Name: name, Namespace: namespace, Config: config}}, nil
}

// prepare makes client settings fit for servers of which nobody knows what they send. It
// turns client-side rate limiting off, too: a listing asks for one chunk after the other
// and cannot flood a server; API priority and fairness protects it from many clients.
func prepare(config *rest.Config) error {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guard{base: base, next: next, most: mostOf} })
	return nil
}

func whereLooked(loader clientcmd.ClientConfig) string {
	access := loader.ConfigAccess()
	files := access.GetLoadingPrecedence()
	if access.IsExplicitFile() {
		files = []string{access.GetExplicitFile()}
	}
	return fmt.Sprintf("looked for one in %s; set KUBECONFIG, or give --kubeconfig or --server", strings.Join(files, ", "))
}
