package writing

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Connect connects to the clusters of some contexts. What is not reached is told in
// one error, beside those that are.
func Connect(ctx context.Context, env util.Environment, f *util.GlobalFlags, contexts []fleet.Context) (map[string]*apiserver.Side, *fleet.Fleet, error) {
	sides, failed, opened, err := Reach(ctx, env, f, contexts)
	if err != nil {
		return nil, nil, err
	}
	return sides, opened, Failures(contexts, failed)
}

// Failures are those of contexts in one error, in their order; nil if there are none.
func Failures(contexts []fleet.Context, failed map[string]error) error {
	var errs []error
	for _, c := range contexts {
		errs = append(errs, failed[c.Name])
	}
	return errors.Join(errs...)
}

// Reach connects to the clusters of some contexts, and tells by their names why others are
// not reached. The error is for an interruption.
func Reach(ctx context.Context, env util.Environment, f *util.GlobalFlags, contexts []fleet.Context) (sides map[string]*apiserver.Side, failed map[string]error, opened *fleet.Fleet, err error) {
	opened = fleet.Open(ctx, contexts, fleet.Options{AllNamespaces: true, Timeout: f.ContextTimeout, Clock: env.Clock, CacheDir: f.CacheDir()})
	sides, failed = map[string]*apiserver.Side{}, map[string]error{}
	for _, answer := range fleet.Ask(ctx, opened, func(_ context.Context, c *fleet.Cluster) (*apiserver.Side, error) { return apiserver.NewSide(c) }) {
		if answer.Err != nil {
			failed[answer.Context] = answer.Err
			continue
		}
		sides[answer.Context] = answer.Value
	}
	if err := util.Interrupted(ctx); err != nil {
		return nil, nil, nil, err
	}
	return sides, failed, opened, nil
}

// OtherSides are those of the contexts that reach the cluster of another one.
func OtherSides(opened *fleet.Fleet, contextName string) ([]*apiserver.Side, error) {
	var others []*apiserver.Side
	for _, way := range opened.Ways(contextName) {
		if way.Context == contextName {
			continue
		}
		side, err := apiserver.NewSide(way)
		if err != nil {
			return nil, err
		}
		others = append(others, side)
	}
	return others, nil
}

// Minor is the minor version of a cluster's API server, 0 if it does not tell.
func Minor(s *apiserver.Side) int {
	version, err := s.Client.Discovery().ServerVersion()
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil {
		return 0
	}
	return n
}
