package writing

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Connect connects to the clusters of some contexts. One error has all contexts that cannot be
// reached, and comes with the reached clusters.
func Connect(ctx context.Context, env util.Environment, f *util.GlobalFlags, contexts []fleet.Context) (map[string]*fleet.Cluster, *fleet.Fleet, error) {
	reached, failed, opened, err := Reach(ctx, env, f, contexts)
	if err != nil {
		return nil, nil, err
	}
	return reached, opened, Failures(contexts, failed)
}

// Failures returns the errors of contexts as one error, in the order of the contexts; nil if
// there are none.
func Failures(contexts []fleet.Context, failed map[string]error) error {
	var errs []error
	for _, c := range contexts {
		errs = append(errs, failed[c.Name])
	}
	return errors.Join(errs...)
}

// Reach connects to the clusters of some contexts. reached and failed have the clusters and the
// errors by context. err is set only after a signal.
func Reach(ctx context.Context, env util.Environment, f *util.GlobalFlags, contexts []fleet.Context) (reached map[string]*fleet.Cluster, failed map[string]error, opened *fleet.Fleet, err error) {
	opened = fleet.Open(ctx, contexts, fleet.Options{AllNamespaces: true, Timeout: f.ContextTimeout, Clock: env.Clock, CacheDir: f.CacheDir()})
	reached, failed = map[string]*fleet.Cluster{}, map[string]error{}
	for _, answer := range fleet.Ask(ctx, opened, func(_ context.Context, c *fleet.Cluster) (*fleet.Cluster, error) { return c, nil }) {
		if answer.Err != nil {
			failed[answer.Context] = answer.Err
			continue
		}
		reached[answer.Context] = answer.Value
	}
	if err := util.Interrupted(ctx); err != nil {
		return nil, nil, nil, err
	}
	return reached, failed, opened, nil
}

// Read reads an object, nil if there is none.
func Read(ctx context.Context, c *fleet.Cluster, k delegation.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	found, err := c.Get(ctx, k.Resource, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s %s/%s: %w", strings.ToLower(k.Kind), namespace, name, err)
	}
	return found, nil
}

// Minor returns the minor version of a cluster's API server, 0 if it is unknown.
func Minor(ctx context.Context, c *fleet.Cluster) int {
	version, err := c.Version(ctx)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil {
		return 0
	}
	return n
}
