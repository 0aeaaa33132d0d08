package util

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// GlobalFlags are the flags of all commands: kubectl's own, and ours for several contexts.
type GlobalFlags struct {
	Kube           *genericclioptions.ConfigFlags
	Contexts       []string
	AllContexts    bool
	AllNamespaces  bool
	ContextTimeout time.Duration
	Color          string
	// defaultCacheDir is the cache directory without --cache-dir.
	defaultCacheDir string
	// Warnings are the warnings that servers have sent.
	Warnings warnings
	// From is the bundle to read instead of clusters, "" for none.
	From string
	// bundled are all contexts of that bundle.
	bundled []fleet.Context
	// others are further addresses in the bundle.
	others []kubecontext.Address
	// Within, unless it is nil, are the names of the only contexts that may be read. All of them
	// are read, unless flags leave some out.
	Within []string
	// ReadOnly refuses to send requests that could change something.
	ReadOnly bool
	// Kubectl are kubectl's own flags.
	Kubectl *pflag.FlagSet
}

// NewGlobalFlags returns the flags with their defaults.
func NewGlobalFlags() *GlobalFlags {
	f := &GlobalFlags{Kube: genericclioptions.NewConfigFlags(false), ContextTimeout: 15 * time.Second, Color: ColorAuto}
	f.defaultCacheDir = *f.Kube.CacheDir
	return f
}

// CacheDir returns kubectl's cache directory. As in kubectl, an empty --cache-dir is the default
// one; "" means none, if there is no home directory for it.
func (f *GlobalFlags) CacheDir() string {
	dir := *f.Kube.CacheDir
	if dir == "" {
		dir = f.defaultCacheDir
	}
	if dir == f.defaultCacheDir && !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// AddNamespacesFlag adds the flag for all namespaces.
func (f *GlobalFlags) AddNamespacesFlag(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVarP(&f.AllNamespaces, "all-namespaces", "A", f.AllNamespaces, "If present, "+verb+" across all namespaces. The namespace in each context is ignored even if specified with --namespace")
	Describe(cmd, ForObjects, nil, "all-namespaces")
}

// Validate checks what can be checked without a kubeconfig.
func (f *GlobalFlags) Validate() error {
	switch {
	case !slices.Contains([]string{ColorAuto, ColorAlways, ColorNever}, f.Color):
		return fmt.Errorf("--color must be auto, always or never, not %q", f.Color)
	case f.AllContexts && len(f.Contexts) > 0:
		return errors.New("--all-contexts and --contexts cannot be combined. To exclude a context, use --contexts '^NAME'")
	case *f.Kube.Context != "" && (f.AllContexts || len(f.Contexts) > 0):
		return errors.New("--context cannot be combined with --contexts or --all-contexts")
	case len(f.refusedFrom()) > 0:
		return fmt.Errorf("%s cannot be combined with --from: a snapshot is read without a server", strings.Join(f.refusedFrom(), ", "))
	case f.ContextTimeout < 0:
		return fmt.Errorf("--context-timeout must be zero or more, not %s", f.ContextTimeout)
	}
	if _, err := clientcmd.ParseTimeout(*f.Kube.Timeout); err != nil {
		return fmt.Errorf("--request-timeout %s: %w", *f.Kube.Timeout, err)
	}
	return nil
}
