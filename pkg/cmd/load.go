package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// defaultContexts says which contexts are meant where the user names none.
type defaultContexts int

const (
	// currentContext is as in kubectl.
	currentContext defaultContexts = iota
	// everyContext is for what is about all clusters.
	everyContext
)

// load prepares the chosen contexts, of the kubeconfig or of a bundle. With a
// bundle, env's clock becomes the bundle's.
func (f *globalFlags) load(env *Environment, byDefault defaultContexts) ([]fleet.Context, error) {
	contexts, err := f.choose(env, byDefault)
	if err != nil {
		return nil, err
	}
	f.introduce(*env, contexts)
	return contexts, nil
}

// introduce has servers told who asks, and the user told what they warn of.
func (f *globalFlags) introduce(env Environment, contexts []fleet.Context) {
	for i := range contexts {
		if c := contexts[i].Config; c != nil {
			c.UserAgent = "kubectl-jobs_managedby/" + version()
			c.WarningHandlerWithContext = f.warned.handler(env, contexts[i].Name, len(contexts) > 1)
		}
	}
}

func (f *globalFlags) choose(env *Environment, byDefault defaultContexts) ([]fleet.Context, error) {
	if f.from != "" {
		return f.loadBundle(env)
	}
	selection := fleet.Selection{Patterns: f.contexts, All: f.allContexts}
	if patterns := f.usualContexts(*env); len(patterns) > 0 {
		contexts, err := fleet.Load(f.kube, fleet.Selection{Patterns: patterns})
		if err != nil {
			err = fmt.Errorf("the environment variable %s: %w", contextsVariable, err)
		}
		return contexts, err
	}
	if byDefault == currentContext || f.namesContexts() || f.namesServer() {
		return fleet.Load(f.kube, selection)
	}
	contexts, err := fleet.Load(f.kube, fleet.Selection{All: true})
	if errors.Is(err, fleet.ErrNoKubeconfig) {
		// In a pod there is no kubeconfig, and one cluster.
		return fleet.Load(f.kube, selection)
	}
	return contexts, err
}

// contextsVariable is the environment variable with the contexts that a user
// usually wants to look at, as --contexts takes them.
const contextsVariable = "KUBECTL_JOBS_MANAGEDBY_CONTEXTS"

// usualContexts are those of the environment variable, none where the call says
// which ones it wants.
func (f *globalFlags) usualContexts(env Environment) []string {
	value, _ := env.LookupEnv(contextsVariable)
	if f.namesContexts() || f.namesServer() {
		return nil
	}
	var patterns []string
	for _, pattern := range strings.Split(value, ",") {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// namesContexts says whether the user chose contexts.
func (f *globalFlags) namesContexts() bool {
	return f.allContexts || len(f.contexts) > 0 || *f.kube.Context != ""
}

// namesServer says whether the user chose a cluster or a user beside those of
// the contexts, which makes sense for a single one only.
func (f *globalFlags) namesServer() bool {
	return *f.kube.APIServer != "" || *f.kube.ClusterName != "" || *f.kube.AuthInfoName != "" || *f.kube.BearerToken != ""
}

// loadPair prepares the context of the origins, and the one named to.
func (f *globalFlags) loadPair(env Environment, to string) (origin, worker fleet.Context, err error) {
	here, err := fleet.Load(f.kube, fleet.Selection{})
	if err != nil {
		return origin, worker, err
	}
	both, err := fleet.Load(f.kube, fleet.Selection{Patterns: []string{here[0].Name, to}})
	if err != nil {
		return origin, worker, err
	}
	if here[0].Name == to {
		return origin, worker, fmt.Errorf("--to %s is the context that the Jobs are in; a Job runs there without being dispatched", to)
	}
	i := slices.IndexFunc(both, func(c fleet.Context) bool { return c.Name == to })
	if i < 0 || len(both) != 2 {
		return origin, worker, &usageError{err: fmt.Errorf("--to names one context, and no pattern: %q", to)}
	}
	f.introduce(env, both)
	return both[1-i], both[i], nil
}

// oneNamespace has the same namespace looked at on all clusters, that of the first
// context, which is the current one: mirrors are in their origins' namespaces, and
// would else seem to be nobody's.
func oneNamespace(contexts []fleet.Context) {
	for i := range contexts {
		contexts[i].Namespace = contexts[0].Namespace
	}
}

// reach connects to the contexts, tells which of them are the same cluster, and sees
// that the kinds that are asked for are served somewhere.
func (f *globalFlags) reach(ctx context.Context, env Environment, contexts []fleet.Context, kinds []string) (*fleet.Fleet, error) {
	reached := f.open(ctx, env, contexts)
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	tellAliases(env.ErrOut, reached)
	if err := requireServed(ctx, env, reached, kinds); err != nil {
		return nil, cmp.Or(interrupted(ctx), err)
	}
	return reached, nil
}

// open connects to the contexts.
func (f *globalFlags) open(ctx context.Context, env Environment, contexts []fleet.Context) *fleet.Fleet {
	return fleet.Open(ctx, contexts, fleet.Options{
		AllNamespaces: f.allNamespaces, Stands: inspect.Query{AllNamespaces: f.allNamespaces}.MayList, Timeout: f.contextTimeout, Clock: env.Clock, CacheDir: f.cacheDir(), Waiting: newProgress(env).waiting,
	})
}

// tellAliases says which contexts were left out because another one reaches the
// same cluster, so that nobody looks for them in vain.
func tellAliases(w io.Writer, f *fleet.Fleet) {
	same := map[string][]string{}
	for _, a := range f.Aliases() {
		same[a.SameAs] = append(same[a.SameAs], a.Context)
	}
	for _, name := range f.Contexts() {
		if aliases := same[name]; len(aliases) > 0 {
			tell(w, "note: %s reaches the same cluster as %s, and is not asked again", strings.Join(aliases, ", "), name)
		}
	}
}
