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
	opened := fleet.Open(ctx, contexts, fleet.Options{AllNamespaces: true, Timeout: f.ContextTimeout, Clock: env.Clock, CacheDir: f.CacheDir()})
	sides := map[string]*apiserver.Side{}
	var errs []error
	for _, answer := range fleet.Ask(ctx, opened, func(_ context.Context, c *fleet.Cluster) (*apiserver.Side, error) { return apiserver.NewSide(c) }) {
		if answer.Err != nil {
			errs = append(errs, answer.Err)
			continue
		}
		sides[answer.Context] = answer.Value
	}
	if err := util.Interrupted(ctx); err != nil {
		return nil, nil, err
	}
	return sides, opened, errors.Join(errs...)
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
