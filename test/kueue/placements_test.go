package kueue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	fixture "github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

// plan is the number of set-ups, and of Jobs that are submitted to each.
type plan struct {
	seeds []uint64
	jobs  int
}

// planOf returns the short form, or the requested one.
func planOf(t *testing.T) plan {
	t.Helper()
	const jobs = 8
	if text := os.Getenv("SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		assert.NilError(t, err, "SEED is a number")
		return plan{seeds: []uint64{seed}, jobs: jobs}
	}
	p := plan{seeds: []uint64{1, 2, 3}, jobs: 4}
	if os.Getenv("PLACEMENTS") == "long" {
		first, setups := number(t, "FIRST", 1), number(t, "SETUPS", 80)
		p = plan{jobs: jobs}
		for seed := range setups {
			p.seeds = append(p.seeds, first+seed)
		}
	}
	return p
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	assert.NilError(t, err, "%s is a number", variable)
	return n
}

// atOnce is the number of set-ups that are tried in parallel.
const atOnce = 6

// TestPlacements runs trace -f for random Jobs in random set-ups before they are submitted, and
// compares its verdicts with what Kueue does.
func TestPlacements(t *testing.T) {
	t.Parallel()
	p := planOf(t)
	w, err := newWatcher()
	assert.NilError(t, err)
	assert.NilError(t, multiKueue.AddQueues(t.Context(), fixture.Queues{
		ClusterQueue: probeQueue, LocalQueue: probeQueue, Namespaces: []string{probeQueue}, Flavor: "default", Resource: "cpu",
		Quotas: map[string]string{management: "1", worker1: "1", worker2: "1"},
	}))
	assert.NilError(t, addNodes(t.Context()))
	assert.NilError(t, createClasses(t.Context()))
	score := score{logf: t.Logf}
	errs := make([]error, len(p.seeds))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, seed := range p.seeds {
		group.Go(func() error {
			tr := trial{setup: newSetup(seed), watcher: w, score: &score, workloads: map[string]string{}, cache: t.TempDir()}
			if err := tr.run(t.Context(), p.jobs); err != nil {
				errs[i] = fmt.Errorf("SEED=%d: %w", seed, err)
				t.Log(errs[i])
			}
			return nil
		})
	}
	assert.NilError(t, group.Wait())
	t.Logf("%d set-ups of up to %d Jobs\n%s", len(p.seeds), p.jobs, score.table())
	assert.NilError(t, errors.Join(errs...))
	assert.Equal(t, score.wrong(inspect.Fits)+score.wrong(inspect.Never), 0, "a verdict fits or never was wrong")
}

// trial is one set-up, and the Jobs that were submitted to it.
type trial struct {
	*setup
	*watcher
	score *score
	// names are the Jobs that exist, oldest first, and workloads are the names of their
	// Workloads. waiting are those without quota.
	names, waiting []string
	workloads      map[string]string
	// unproven are verdicts never that Kueue has not confirmed yet.
	unproven []result
	cache    string
}

func (tr *trial) run(ctx context.Context, jobs int) error {
	if err := tr.apply(ctx); err != nil {
		return err
	}
	for i := range jobs {
		if err := tr.one(ctx, fmt.Sprintf("job-%d", i)); err != nil {
			return err
		}
	}
	if err := tr.prove(ctx); err != nil {
		return err
	}
	if err := tr.remove(ctx, tr.names...); err != nil {
		return err
	}
	return tr.clear(ctx)
}

// one predicts for a Job, submits it, and compares.
func (tr *trial) one(ctx context.Context, name string) error {
	job := tr.job(name)
	predicted, err := tr.predict(job)
	if err != nil {
		return err
	}
	if tr.workloads[name], err = tr.submit(ctx, job); err != nil {
		return err
	}
	tr.names = append(tr.names, name)
	outcomes, err := tr.settle(ctx, tr.setup, tr.workloads)
	if err != nil {
		return err
	}
	tr.compare(name, predicted, outcomes[name])
	tr.waiting = slices.DeleteFunc(slices.Clone(tr.names), func(n string) bool { return outcomes[n].admittedOn != "" })
	if err := tr.release(ctx, name, predicted); err != nil {
		return err
	}
	// Ended Jobs release quota for the next ones; waiting Jobs come before them.
	if len(tr.names) > 0 && tr.chance(0.35) {
		return tr.remove(ctx, pick(tr.setup, tr.names...))
	}
	return nil
}

// predict runs trace -f.
func (tr *trial) predict(job object) ([]inspect.Placement, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	env := util.ThisProcess()
	var out, errOut bytes.Buffer
	env.In, env.Out, env.ErrOut = bytes.NewReader(text), &out, &errOut
	env.Args = []string{"trace", "-f", "-", "-o", "json", "--all-contexts", "--kubeconfig", set.Kubeconfig, "--cache-dir", tr.cache}
	code := cmd.Run(env)
	if code != 0 && code != util.ExitFindings && code != util.ExitPartial {
		return nil, fmt.Errorf("trace -f ends with %d: %s", code, &errOut)
	}
	var document inspect.Trace
	if err := json.Unmarshal(out.Bytes(), &document); err != nil {
		return nil, err
	}
	if code == util.ExitPartial && !slices.ContainsFunc(document.Placements, func(p inspect.Placement) bool { return p.Verdict == inspect.Unknown }) {
		return nil, fmt.Errorf("trace -f ends with %d, though no verdict is unknown: %s%s", code, &out, &errOut)
	}
	if len(document.Placements) == 0 {
		return nil, fmt.Errorf("trace -f names no cluster: %s%s", &out, &errOut)
	}
	return document.Placements, nil
}

// remove deletes Jobs, and waits until Kueue has decided about the others.
func (tr *trial) remove(ctx context.Context, names ...string) error {
	if err := tr.watcher.remove(ctx, tr.setup, tr.workloads, names...); err != nil {
		return err
	}
	for _, name := range names {
		delete(tr.workloads, name)
	}
	tr.names = slices.DeleteFunc(tr.names, func(n string) bool { return slices.Contains(names, n) })
	_, err := tr.settle(ctx, tr.setup, tr.workloads)
	return err
}

// compare judges the verdict about each cluster.
func (tr *trial) compare(name string, predicted []inspect.Placement, o outcome) {
	for i := range predicted {
		p := &predicted[i]
		if p.Manager {
			// The manager has enough quota for everything, so it is checked only if it has not.
			if p.Verdict == inspect.Fits && o.waits[management].Reason == "" {
				continue
			}
		}
		at := p.Context
		waited, hasWaited := o.waits[at]
		r := result{Seed: tr.seed, Job: name, Placement: p, Became: "another cluster was faster"}
		switch {
		case at == o.admittedOn:
			r.Became, r.Seen = "admitted", true
			r.True = p.Verdict == inspect.Fits || p.Verdict == inspect.Waits && couldPreempt(p)
		case hasWaited:
			r.Became, r.Seen = fmt.Sprintf("%s: %s", waited.Reason, waited.Message), true
			r.True = p.Verdict == inspect.Waits && !waited.IsPermanent() || p.Verdict == inspect.Never && waited.IsPermanent()
			if p.Verdict == inspect.Never && !r.True {
				tr.unproven = append(tr.unproven, r)
				continue
			}
		}
		tr.score.add(r)
	}
}

func couldPreempt(p *inspect.Placement) bool {
	return slices.ContainsFunc(p.Holders, func(h inspect.Holder) bool { return h.Preemptible })
}

// release deletes the Jobs that hold what the only waiting Job lacks, so that Kueue admits it.
func (tr *trial) release(ctx context.Context, name string, predicted []inspect.Placement) error {
	if len(tr.waiting) != 1 || tr.waiting[0] != name || !tr.chance(0.5) {
		return nil
	}
	i := slices.IndexFunc(predicted, func(p inspect.Placement) bool {
		return p.Verdict == inspect.Waits && p.Reason == inspect.QuotaInUse && len(p.Holders) > 0
	})
	if i < 0 {
		return nil
	}
	var holders []string
	for _, h := range predicted[i].Holders {
		if h.Namespace == tr.name && !slices.Contains(holders, h.Name) {
			holders = append(holders, h.Name)
		}
	}
	r := result{Seed: tr.seed, Job: name, Placement: &predicted[i], Released: true, Seen: true}
	if err := tr.remove(ctx, holders...); err != nil {
		return err
	}
	admitted, err := tr.admits(ctx, tr.setup, tr.workloads[name])
	if err != nil {
		return err
	}
	r.True = admitted
	r.Became = fmt.Sprintf("admitted %t without %s", admitted, strings.Join(holders, ", "))
	tr.score.add(r)
	return nil
}

// prove leaves each Job with the verdict never alone in the set-up. Before, Kueue may have reported
// that it waits for others, or nothing at all.
func (tr *trial) prove(ctx context.Context) error {
	for _, r := range tr.unproven {
		if !slices.Contains(tr.names, r.Job) {
			r.Seen, r.Became = false, "deleted too early"
			tr.score.add(r)
		}
	}
	left := slices.DeleteFunc(slices.Clone(tr.unproven), func(r result) bool { return !slices.Contains(tr.names, r.Job) })
	for len(left) > 0 {
		job := left[0].Job
		others := slices.DeleteFunc(slices.Clone(tr.names), func(n string) bool {
			return slices.ContainsFunc(left, func(r result) bool { return r.Job == n })
		})
		if err := tr.remove(ctx, others...); err != nil {
			return err
		}
		for _, r := range left {
			if r.Job != job {
				continue
			}
			admittedOn, refused, err := tr.refuses(ctx, tr.setup, tr.workloads[job], r.Placement.Context)
			if err != nil {
				return err
			}
			r.True = admittedOn == "" && refused.IsPermanent()
			r.Seen = admittedOn == "" || admittedOn == r.Placement.Context
			r.Became = fmt.Sprintf("admitted on %q, %s: %s", admittedOn, refused.Reason, refused.Message)
			tr.score.add(r)
		}
		left = slices.DeleteFunc(left, func(r result) bool { return r.Job == job })
	}
	return nil
}

// clear removes the queues of the set-up.
func (tr *trial) clear(ctx context.Context) error {
	var group errgroup.Group
	for _, cluster := range multiKueue.Clusters() {
		group.Go(func() error {
			args := []string{"--context", cluster, "delete", "--ignore-not-found", "--wait=false", "namespace/" + tr.name}
			for _, queue := range tr.queues {
				args = append(args, "clusterqueues.kueue.x-k8s.io/"+tr.clusterQueue(queue))
			}
			_, err := kubectl(ctx, "", args...)
			return err
		})
	}
	return group.Wait()
}
