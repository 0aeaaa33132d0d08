package cmd

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// addFromFlag adds the flag that has a command read a bundle.
func (f *globalFlags) addFromFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", f.from, "Folder that the snapshot command wrote, to read instead of asking any cluster, as of when it was taken; all of its contexts unless some are chosen")
	describe(cmd, forClusters, folders, "from")
}

// addHiddenFromFlag adds it to a command that refuses it, so that it can do so in words
// that help.
func (f *globalFlags) addHiddenFromFlag(cmd *cobra.Command) {
	f.addFromFlag(cmd)
	cmd.Flag("from").Hidden = true
}

// refusedFrom names those of kubectl's flags in use that make no sense with a
// bundle, because they say how to reach a server.
func (f *globalFlags) refusedFrom() []string {
	if f.from == "" {
		return nil
	}
	var names []string
	f.kubectl.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && !slices.Contains([]string{"context", "namespace", "request-timeout"}, flag.Name) {
			names = append(names, "--"+flag.Name)
		}
	})
	return names
}

// refuseWatch says why a bundle cannot be watched.
func (f *globalFlags) refuseWatch(watch bool) error {
	if watch && f.from != "" {
		return errors.New("--from cannot be combined with --watch or --watch-only: nothing changes in a bundle")
	}
	return nil
}

// loadBundle prepares the chosen contexts of the bundle. From then on it is the
// time at which it was taken.
func (f *globalFlags) loadBundle(env *Environment) ([]fleet.Context, error) {
	b, err := bundle.Open(f.from)
	if err != nil {
		return nil, err
	}
	f.bundled, f.others = b.Contexts(), b.Others()
	contexts, err := f.pick(slices.Clone(f.bundled))
	if err != nil {
		return nil, err
	}
	for i := range contexts {
		if *f.kube.Namespace != "" {
			contexts[i].Namespace = *f.kube.Namespace
		}
	}
	f.tellMissing(*env, b, contexts)
	env.Clock = stoppedClock{now: b.TakenAt()}
	return contexts, nil
}

// pick returns those of a bundle's contexts that the user chose.
func (f *globalFlags) pick(contexts []fleet.Context) ([]fleet.Context, error) {
	names := make([]string, len(contexts))
	for i, c := range contexts {
		names[i] = c.Name
	}
	where := "the bundle " + f.from
	chosen := names
	switch one := *f.kube.Context; {
	case one != "" && !slices.Contains(names, one):
		return nil, &fleet.UnknownContextError{Pattern: one, Nearest: fleet.Nearest(one, names), Available: names, Where: where}
	case one != "":
		chosen = []string{one}
	case len(f.contexts) > 0:
		var err error
		chosen, err = fleet.Select(f.contexts, names)
		if unknown := (*fleet.UnknownContextError)(nil); errors.As(err, &unknown) {
			unknown.Where = where
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(contexts, func(c fleet.Context) bool { return !slices.Contains(chosen, c.Name) }), nil
}

// tellMissing says where a bundle holds less than is asked for, so that nobody
// takes what was not read for what was not there.
func (f *globalFlags) tellMissing(env Environment, b *bundle.Bundle, contexts []fleet.Context) {
	for _, c := range contexts {
		held, bounded := b.Namespaces(c.Name)
		if !bounded || !f.allNamespaces && slices.Contains(held, c.Namespace) {
			continue
		}
		word := "namespace"
		if len(held) > 1 {
			word = "namespaces"
		}
		tell(env.ErrOut, "note: of context %s the bundle holds only %s %s", c.Name, word, strings.Join(held, ", "))
	}
}

// stoppedClock shows one time for ever; its timers and tickers run.
type stoppedClock struct {
	clock.RealClock
	now time.Time
}

// Now is when the clock was stopped.
func (c stoppedClock) Now() time.Time { return c.now }

// Since agrees with Now.
func (c stoppedClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }
