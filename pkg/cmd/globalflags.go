package cmd

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

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// globalFlags are common to all commands: kubectl's own, and ours for several
// contexts.
type globalFlags struct {
	kube           *genericclioptions.ConfigFlags
	contexts       []string
	allContexts    bool
	allNamespaces  bool
	contextTimeout time.Duration
	kinds          []string
	color          string
	// usualCache is the cache folder where --cache-dir names none.
	usualCache string
	// warned are the warnings that servers have sent.
	warned warnings
	// from is the bundle to read instead of clusters, "" for none.
	from string
	// bundled are all contexts of that bundle.
	bundled []fleet.Context
	// others are addresses that it tells of beside theirs.
	others []fleet.Address
	// kubectl are kubectl's own flags.
	kubectl *pflag.FlagSet
}

func newGlobalFlags() *globalFlags {
	f := &globalFlags{kube: genericclioptions.NewConfigFlags(false), contextTimeout: 15 * time.Second, color: colorAuto}
	f.usualCache = *f.kube.CacheDir
	return f
}

// cacheDir is kubectl's cache folder. As with kubectl, an empty --cache-dir is the
// usual one; "" is for none, where there is no home for it.
func (f *globalFlags) cacheDir() string {
	dir := *f.kube.CacheDir
	if dir == "" {
		dir = f.usualCache
	}
	if dir == f.usualCache && !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

// addNamespacesFlag adds the flag for all namespaces.
func (f *globalFlags) addNamespacesFlag(cmd *cobra.Command, verb string) {
	cmd.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", f.allNamespaces, "If present, "+verb+" across all namespaces. The namespace in each context is ignored even if specified with --namespace")
	describe(cmd, forObjects, nil, "all-namespaces")
}

// addListFlags adds the flags that say what to list.
func (f *globalFlags) addListFlags(cmd *cobra.Command) {
	f.addNamespacesFlag(cmd, "list")
	f.addKindsFlag(cmd, "Kinds to look at", delegation.Job().Name)
}

// addKindsFlag adds the flag that says which kinds are meant, with what they are for.
func (f *globalFlags) addKindsFlag(cmd *cobra.Command, what string, byDefault ...string) {
	cmd.Flags().StringSliceVar(&f.kinds, "kinds", byDefault, what+", comma-separated: names as the kinds command tells them, or all")
	describe(cmd, forObjects, completeKinds(), "kinds")
}

// validate checks what needs no kubeconfig.
func (f *globalFlags) validate() error {
	switch {
	case !slices.Contains([]string{colorAuto, colorAlways, colorNever}, f.color):
		return fmt.Errorf("--color is one of auto, always and never, not %q", f.color)
	case f.allContexts && len(f.contexts) > 0:
		return errors.New("--all-contexts and --contexts cannot be combined; --contexts '^NAME' is all but NAME")
	case *f.kube.Context != "" && (f.allContexts || len(f.contexts) > 0):
		return errors.New("--context cannot be combined with --contexts or --all-contexts")
	case len(f.refusedFrom()) > 0:
		return fmt.Errorf("%s cannot be combined with --from: a bundle is read without asking any server", strings.Join(f.refusedFrom(), ", "))
	case f.contextTimeout < 0:
		return fmt.Errorf("--context-timeout cannot be less than zero, and is %s", f.contextTimeout)
	}
	if _, err := clientcmd.ParseTimeout(*f.kube.Timeout); err != nil {
		return fmt.Errorf("--request-timeout %s: %w", *f.kube.Timeout, err)
	}
	return f.validateKinds()
}
