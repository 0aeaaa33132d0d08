package util

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// DefaultContexts selects the contexts if the user names none.
type DefaultContexts int

const (
	// CurrentContext is the default of kubectl.
	CurrentContext DefaultContexts = iota
	// EveryContext is for commands about all clusters.
	EveryContext
)

// Load loads the chosen contexts of the kubeconfig or of a bundle. With a bundle, env's clock
// becomes the bundle's.
func (f *GlobalFlags) Load(env *Environment, byDefault DefaultContexts) ([]fleet.Context, error) {
	if f.Within != nil {
		byDefault = EveryContext
	}
	contexts, err := f.choose(env, byDefault)
	if err != nil {
		return nil, err
	}
	if f.Within != nil {
		contexts = slices.DeleteFunc(contexts, func(c fleet.Context) bool { return !slices.Contains(f.Within, c.Name) })
		if len(contexts) == 0 {
			return nil, fmt.Errorf("context %s no longer exists; restart this command", strings.Join(f.Within, ", "))
		}
	}
	f.ConfigureClients(*env, contexts)
	return contexts, nil
}

// ConfigureClients sets the user agent of requests and the handler of servers' warnings.
func (f *GlobalFlags) ConfigureClients(env Environment, contexts []fleet.Context) {
	for i := range contexts {
		if c := contexts[i].Config; c != nil {
			if f.ReadOnly {
				c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &readOnly{next: next} })
			}
			c.UserAgent = "kubectl-jobs_managedby/" + Version()
			c.WarningHandlerWithContext = f.Warnings.handler(env, contexts[i].Name, len(contexts) > 1)
		}
	}
}

func (f *GlobalFlags) choose(env *Environment, byDefault DefaultContexts) ([]fleet.Context, error) {
	if f.From != "" {
		return f.loadBundle(env)
	}
	selection := fleet.Selection{Patterns: f.Contexts, All: f.AllContexts}
	if patterns := f.environmentContexts(*env); len(patterns) > 0 {
		contexts, err := fleet.Load(f.Kube, fleet.Selection{Patterns: patterns})
		if err != nil {
			err = fmt.Errorf("environment variable %s: %w", ContextsVariable, err)
		}
		return contexts, err
	}
	if byDefault == CurrentContext || f.namesContexts() || f.namesServer() {
		return fleet.Load(f.Kube, selection)
	}
	contexts, err := fleet.Load(f.Kube, fleet.Selection{All: true})
	if errors.Is(err, fleet.ErrNoKubeconfig) {
		// In a pod there is no kubeconfig, and one cluster.
		return fleet.Load(f.Kube, selection)
	}
	return contexts, err
}

// ContextsVariable is the environment variable with the contexts that a user usually wants to
// read, in the form of --contexts.
const ContextsVariable = "KUBECTL_JOBS_MANAGEDBY_CONTEXTS"

// environmentContexts returns the contexts of the environment variable, nil if the call chooses
// contexts.
func (f *GlobalFlags) environmentContexts(env Environment) []string {
	value, _ := env.LookupEnv(ContextsVariable)
	if f.namesContexts() || f.namesServer() {
		return nil
	}
	if strings.Trim(value, ", ") == "" {
		return nil
	}
	return []string{value}
}

// namesContexts reports whether the user chose contexts.
func (f *GlobalFlags) namesContexts() bool {
	return f.AllContexts || len(f.Contexts) > 0 || *f.Kube.Context != ""
}

// ShowsContexts reports whether a table shows the context of each row: if it is about several contexts, and without
// titles also if the user chose contexts by patterns, which may match more of them another time. A snapshot without
// --context counts as such a choice: another one may have more contexts.
func (f *GlobalFlags) ShowsContexts(env Environment, contexts []fleet.Context, noHeaders bool) bool {
	isWholeSnapshot := f.From != "" && *f.Kube.Context == ""
	isByPattern := isWholeSnapshot || f.AllContexts || len(f.Contexts) > 0 || len(f.environmentContexts(env)) > 0
	return len(contexts) > 1 || noHeaders && isByPattern
}

// namesServer reports whether the user chose a cluster or a user other than those of the
// contexts, which makes sense only for a single context.
func (f *GlobalFlags) namesServer() bool {
	return *f.Kube.APIServer != "" || *f.Kube.ClusterName != "" || *f.Kube.AuthInfoName != "" || *f.Kube.BearerToken != ""
}

// LoadWorkers loads the origins' context, and the contexts that to selects, in their order. Each
// element of to has the form of --contexts. The origins' context is never among them.
func (f *GlobalFlags) LoadWorkers(env Environment, to []string) (origin fleet.Context, workers []fleet.Context, err error) {
	current, err := fleet.Load(f.Kube, fleet.Selection{})
	if err != nil {
		return origin, nil, err
	}
	all, err := fleet.Load(f.Kube, fleet.Selection{Behind: current[0].Name, Patterns: to})
	if err != nil {
		return origin, nil, err
	}
	if len(all) == 1 {
		return origin, nil, fmt.Errorf("--to %s is the context of the Jobs themselves. Name another cluster", strings.Join(to, ","))
	}
	f.ConfigureClients(env, all)
	return all[0], all[1:], nil
}

// OneNamespace sets the namespace of the first context, which is the current one, on all
// contexts: mirrors are in their origins' namespaces, and would otherwise seem to be orphans.
func OneNamespace(contexts []fleet.Context) {
	for i := range contexts {
		contexts[i].Namespace = contexts[0].Namespace
	}
}

// Reach connects to the contexts, prints which of them reach the same cluster, and checks that
// some cluster serves the wanted kinds.
func (f *GlobalFlags) Reach(ctx context.Context, env Environment, contexts []fleet.Context, kinds []string) (*fleet.Fleet, error) {
	reached := f.Open(ctx, env, contexts)
	if err := Interrupted(ctx); err != nil {
		return nil, err
	}
	reportAliases(env.ErrOut, reached)
	if err := RequireServed(ctx, env, reached, kinds); err != nil {
		return nil, cmp.Or(Interrupted(ctx), err)
	}
	return reached, nil
}

// Open connects to the contexts.
func (f *GlobalFlags) Open(ctx context.Context, env Environment, contexts []fleet.Context) *fleet.Fleet {
	return fleet.Open(ctx, contexts, fleet.Options{
		AllNamespaces: f.AllNamespaces, Refused: read.Query{AllNamespaces: f.AllNamespaces}.Refused, Timeout: f.ContextTimeout, Clock: env.Clock, CacheDir: f.CacheDir(), Waiting: NewProgress(env).Waiting,
	})
}

// reportAliases prints which contexts were left out because another one reaches the same cluster.
func reportAliases(w io.Writer, f *fleet.Fleet) {
	same := map[string][]string{}
	for _, a := range f.Aliases() {
		same[a.SameAs] = append(same[a.SameAs], a.Context)
	}
	for _, name := range f.Contexts() {
		if aliases := same[name]; len(aliases) > 0 {
			Report(w, "note: %s reaches the same cluster as %s; read once", strings.Join(aliases, ", "), name)
		}
	}
}
