package util

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// AddFromFlag adds the flag --from, with which a command reads a bundle.
func (f *GlobalFlags) AddFromFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.From, "from", f.From, "Read this snapshot directory instead of clusters. Ages are relative to the time of the snapshot")
	Describe(cmd, ForClusters, Directories, "from")
}

// refusalOfFrom is an annotation of a flag --from. It says why the command cannot read a snapshot.
const refusalOfFrom = "cannot read a snapshot"

// RefuseFrom adds the hidden flag --from to a command that needs clusters, so that ValidateFrom can say why.
func (f *GlobalFlags) RefuseFrom(cmd *cobra.Command, why string) {
	f.AddFromFlag(cmd)
	flag := cmd.Flag("from")
	flag.Hidden, flag.Annotations[refusalOfFrom] = true, []string{why}
}

// ValidateFrom returns an error if a command was called with --from and cannot read a snapshot.
func ValidateFrom(cmd *cobra.Command) error {
	flag := cmd.Flag("from")
	if flag == nil || !flag.Changed || len(flag.Annotations[refusalOfFrom]) == 0 {
		return nil
	}
	return fmt.Errorf("--from cannot be used here: %s", flag.Annotations[refusalOfFrom][0])
}

// refusedFrom returns the given flags of kubectl that choose a server, which a bundle does not
// have.
func (f *GlobalFlags) refusedFrom() []string {
	if f.From == "" {
		return nil
	}
	var names []string
	f.Kubectl.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && !slices.Contains([]string{"context", "namespace", "request-timeout"}, flag.Name) {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// WatchFlag returns the name of the flag that watches, "" if it is not given.
func WatchFlag(isGiven bool) string {
	if isGiven {
		return "watch"
	}
	return ""
}

// RefuseWatch returns an error if a bundle is to be watched. flag is the given flag that watches, "" if none is.
func (f *GlobalFlags) RefuseWatch(flag string) error {
	if flag != "" && f.From != "" {
		return fmt.Errorf("--from cannot be combined with --%s: a snapshot never changes", flag)
	}
	return nil
}

// loadBundle loads the chosen contexts of the bundle. From then on, env's clock shows the time at
// which the bundle was taken.
func (f *GlobalFlags) loadBundle(env *Environment) ([]fleet.Context, error) {
	opens := env.OpenSnapshot
	if opens == nil {
		opens = bundle.Open
	}
	b, err := opens(f.From)
	if err != nil {
		return nil, err
	}
	f.bundled, f.others = b.Contexts(), b.Others()
	contexts, err := f.pick(slices.Clone(f.bundled))
	if err != nil {
		return nil, err
	}
	for i := range contexts {
		if *f.Kube.Namespace != "" {
			contexts[i].Namespace = *f.Kube.Namespace
		}
	}
	f.reportMissing(*env, b, contexts)
	env.Clock = stoppedClock{now: b.TakenAt()}
	return contexts, nil
}

// pick returns the chosen contexts of a bundle.
func (f *GlobalFlags) pick(contexts []fleet.Context) ([]fleet.Context, error) {
	names := make([]string, len(contexts))
	for i, c := range contexts {
		names[i] = c.Name
	}
	where := "the snapshot " + f.From
	chosen := names
	switch name := *f.Kube.Context; {
	case name != "" && !slices.Contains(names, name):
		return nil, &fleet.UnknownContextError{Pattern: name, Nearest: fleet.Nearest(name, names), Available: names, Where: where}
	case name != "":
		chosen = []string{name}
	case len(f.Contexts) > 0:
		var err error
		chosen, err = fleet.Select(f.Contexts, names)
		if unknown := (*fleet.UnknownContextError)(nil); errors.As(err, &unknown) {
			unknown.Where = where
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(contexts, func(c fleet.Context) bool { return !slices.Contains(chosen, c.Name) }), nil
}

// reportMissing prints the contexts of which a bundle lacks requested namespaces, so that users do
// not take missing records for missing objects.
func (f *GlobalFlags) reportMissing(env Environment, b *bundle.Bundle, contexts []fleet.Context) {
	for _, c := range contexts {
		held, bounded := b.Namespaces(c.Name)
		if !bounded || !f.AllNamespaces && slices.Contains(held, c.Namespace) {
			continue
		}
		word := "namespace"
		if len(held) > 1 {
			word = "namespaces"
		}
		Report(env.ErrOut, "note: the snapshot of context %q has only %s %s", c.Name, word, strings.Join(held, ", "))
	}
}

// stoppedClock always shows the same time; its timers and tickers run.
type stoppedClock struct {
	clock.RealClock
	now time.Time
}

// Now returns the time at which the clock was stopped.
func (c stoppedClock) Now() time.Time { return c.now }

// Since is consistent with Now.
func (c stoppedClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }
