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

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// Context is an entry of the user's kubeconfig, ready to be connected to.
type Context struct {
	// Name is the context's name in the kubeconfig. It is "in-cluster" for a Pod's service
	// account without a kubeconfig, and the server's address if only --server was given.
	Name string
	// Namespace is the value of -n, or the context's namespace, or "default".
	Namespace string
	// Config are the client settings, unthrottled; nil if Err is set.
	Config *rest.Config
	// CA is the Fingerprint of the cluster's certificate authority if Config does not hold it, as
	// in a snapshot.
	CA string
	// IsPartial is whether only objects of some namespaces are available, as in a snapshot,
	// although listing all is not refused.
	IsPartial bool
	// Err is the reason why this entry of the kubeconfig is not usable.
	Err error
}

// Selection selects contexts of the kubeconfig. The zero value selects the current one.
type Selection struct {
	// Patterns are patterns for Select.
	Patterns []string
	// All selects every context, and ignores Patterns.
	All bool
	// Behind, if set, is a context that comes first, followed by those of Patterns in the order
	// of selectInOrder.
	Behind string
}

// several reports whether more than one context may be selected.
func (s Selection) several() bool { return s.All || len(s.Patterns) > 0 }

// ErrNoKubeconfig means that there is no kubeconfig, no --server, and no service account of a
// Pod.
var ErrNoKubeconfig = errors.New("no kubeconfig")

// RefusedFlagsError means that flags for a single cluster or user were combined with several
// contexts.
type RefusedFlagsError struct{ Flags, Contexts []string }

func (e *RefusedFlagsError) Error() string {
	return fmt.Sprintf("%s cannot be combined with several contexts (%s): each context has its own",
		strings.Join(e.Flags, ", "), strings.Join(e.Contexts, ", "))
}

// Load reads the kubeconfig as kubectl does with the same flags, and returns the selected
// contexts, the current one first, then by name. It sends no requests. A context with a broken
// entry has its Err set, and does not affect the others.
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
		return nil, fmt.Errorf("%w: %s", ErrNoKubeconfig, kubeconfigPaths(loader))
	}
	if names, err = selection.pick(names, current); err != nil {
		if unknown := (*UnknownContextError)(nil); errors.As(err, &unknown) && unknown.Pattern == raw.CurrentContext && !selection.several() {
			unknown.IsCurrent, unknown.Kubeconfig = *flags.Context == "", *flags.KubeConfig
		}
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

// pick returns the names of the selected contexts.
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

// pickBehind returns the context that comes first, and those of the patterns.
func (s Selection) pickBehind(names []string) ([]string, error) {
	if !slices.Contains(names, s.Behind) {
		return nil, &UnknownContextError{Pattern: s.Behind, Nearest: Nearest(s.Behind, names), Available: names}
	}
	selected, err := selectInOrder(s.Patterns, names)
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

// identityFlags returns the used flags of kubectl that name a cluster or user, and so apply to a
// single context only.
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
	// The kubeconfig was read once for all contexts. ConfigFlags would read it again for each.
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

// complete checks that the cluster and the user of a context exist. For a missing cluster,
// clientcmd would use http://localhost:8080, and for a missing user none, so that another
// cluster's Jobs could appear under the context's name.
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

// loadWithoutKubeconfig handles --server without a context, and Pods.
func loadWithoutKubeconfig(flags *genericclioptions.ConfigFlags, loader clientcmd.ClientConfig) ([]Context, error) {
	if *flags.APIServer == "" {
		if _, err := rest.InClusterConfig(); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrNoKubeconfig, kubeconfigPaths(loader))
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

// prepare guards client settings against the answers of unknown servers. It also disables
// client-side rate limiting: a list requests one chunk after the other and cannot flood a server,
// and API priority and fairness protects servers from many clients.
func prepare(config *rest.Config) error {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire.Guard(base, next) })
	return nil
}

func kubeconfigPaths(loader clientcmd.ClientConfig) string {
	access := loader.ConfigAccess()
	files := access.GetLoadingPrecedence()
	if access.IsExplicitFile() {
		files = []string{access.GetExplicitFile()}
	}
	return fmt.Sprintf("no context in %s; set KUBECONFIG, or give --kubeconfig or --server", strings.Join(files, ", "))
}
