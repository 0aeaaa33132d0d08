package cmd

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

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

func (f *globalFlags) addTo(flags *pflag.FlagSet) {
	f.kubectl = pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	f.kube.AddFlags(f.kubectl)
	flags.AddFlagSet(f.kubectl)
	flags.StringSliceVar(&f.contexts, "contexts", f.contexts, "Contexts to look at, comma-separated: names, globs or /regular expressions/; ^ in front leaves out what matches")
	flags.BoolVar(&f.allContexts, "all-contexts", f.allContexts, "If present, look at every context of the kubeconfig")
	flags.DurationVar(&f.contextTimeout, "context-timeout", f.contextTimeout, "How long to wait for each context, all requests to it taken together. Zero means without bound")
	flags.BoolVar(&f.warned.asErrors, "warnings-as-errors", false, "Treat warnings received from servers as errors and exit with a non-zero exit code")
	flags.StringVar(&f.color, "color", f.color, "When to use colour. One of: (auto, always, never). NO_COLOR turns auto off")

	// klog is what client-go logs with; of its flags kubectl users know this one.
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlag(logging.Lookup("v"))
}

// addNamespacesFlag adds the flag for all namespaces.
func (f *globalFlags) addNamespacesFlag(flags *pflag.FlagSet, verb string) {
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", f.allNamespaces, "If present, "+verb+" across all namespaces. The namespace in each context is ignored even if specified with --namespace")
}

// addListFlags adds the flags that say what to list.
func (f *globalFlags) addListFlags(flags *pflag.FlagSet) {
	f.addNamespacesFlag(flags, "list")
	f.addKindsFlag(flags)
}

// addKindsFlag adds the flag that says which kinds to look at.
func (f *globalFlags) addKindsFlag(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.kinds, "kinds", []string{delegation.Job().Name}, "Kinds to look at, comma-separated: names as the kinds command tells them, or all")
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

// version is the version of the module that the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
