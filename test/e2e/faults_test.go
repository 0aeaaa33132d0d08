package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// trial says what dispatches have to survive.
type trial struct {
	seed uint64
	// runners is the number of dispatchers, jobs that of the Jobs of each, and kills how often each
	// is killed.
	runners, jobs, kills int
	// faults is the number of consecutive faults on each side.
	faults int
	// longest is the maximum duration of Jobs, in seconds.
	longest int
	// outages is whether API servers are stopped and frozen, too, and etcd is full. No other test
	// can use the clusters then. One Job of each dispatcher does not end before the dispatcher was
	// killed as often as planned.
	outages bool
}

// trialOf returns the short form, or the requested one.
func trialOf(t *testing.T) trial {
	t.Helper()
	of := trial{seed: rand.Uint64(), runners: 2, jobs: 4, kills: 2, faults: 12, longest: 12}
	if os.Getenv("FAULTS") == "long" {
		of = trial{seed: of.seed, runners: 5, jobs: 10, kills: 20, faults: 300, longest: 60, outages: true}
	}
	if text := os.Getenv("SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		assert.NilError(t, err)
		of.seed = seed
	}
	return of
}

// TestFaults injects all kinds of faults into dispatches, on both clusters, by a schedule that its
// seed determines, while the dispatchers are killed and started again, as another user on another
// machine. In the end every origin equals its mirror, no Job has run twice, no object of another
// owner has changed, and no Lease is left.
func TestFaults(t *testing.T) {
	of := trialOf(t)
	if !of.outages {
		t.Parallel()
	}
	const ns = "faults"
	t.Logf("SEED=%d", of.seed)
	names := map[int][]string{}
	for runner := range of.runners {
		for n := range of.jobs {
			// The schedule does not depend on the order of the goroutines.
			chance := rand.New(rand.NewPCG(of.seed, uint64(runner*1000+n)))
			name := fmt.Sprintf("job-%d-%d", runner, n)
			names[runner] = append(names[runner], name)
			options := []fixture.Option{fixture.Pods(int32(1 + chance.IntN(3))), fixture.RunsFor(fmt.Sprintf("%ds", 1+chance.IntN(of.longest)))}
			if n == 0 && of.outages {
				options = append(options, fixture.RunsFor("2h"))
			}
			if n%2 == 1 {
				options = append(options, needsCopies)
			}
			origin(t, ns, name, options...)
		}
	}
	namespaces(t, ns, worker2)
	makeCopied(t, ns)
	before := bystanders(t, ns)
	proxies := map[string]*faulty{management: newFaulty(t, management), worker1: newFaulty(t, worker1)}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	behindFaults(t, kubeconfig, proxies)

	ctx, over := context.WithCancel(t.Context())
	defer over()
	survived := map[string]int{}
	var suffering, running sync.WaitGroup
	all := slices.Concat(slices.Collect(maps.Values(names))...)
	suffering.Go(func() { injectFaults(ctx, t, of, proxies, survived, func() bool { return arePinned(ctx, t, ns, all) }) })
	forged := 0
	suffering.Go(func() { forged = forge(ctx, t, of.seed, ns, all) })
	kills := make([]int, of.runners)
	for runner := range of.runners {
		r := &killedRunner{
			t: t, chance: rand.New(rand.NewPCG(of.seed, uint64(1_000_000+runner))), left: of.kills,
			args: append([]string{
				"jobs-managedby", "dispatch", "--context", management, "--to", worker1, "-n", ns, "-o", "json", "--kubeconfig", kubeconfig,
				"--with-dependencies", "--with-secret", copiedSecret,
			}, names[runner]...),
			release: func() { ended(ctx, t, ns, names[runner][0]) },
			atPin:   func(do func()) { proxies[management].pins.arm(fmt.Sprintf("job-%d-", runner), do) },
		}
		running.Go(func() { kills[runner] = r.run(ctx) })
	}
	running.Wait()
	over()
	suffering.Wait()

	assert.Equal(t, proxies[management].strayed.Load()+proxies[worker1].strayed.Load(), int64(0), "requests that followed a redirect")
	total, killed := 0, 0
	for _, n := range survived {
		total += n
	}
	for _, n := range kills {
		killed += n
	}
	befallen := proxies[management].befallen.Load() + proxies[worker1].befallen.Load()
	t.Logf("SEED=%d: %d dispatches survived %d faults (%v), which befell %d requests, %d forged annotations, and %d deaths of their dispatchers",
		of.seed, of.runners*of.jobs, total, survived, befallen, forged, killed)
	for _, name := range slices.Concat(slices.Collect(maps.Values(names))...) {
		ranOnce(t, ns, name)
		assert.Assert(t, jobOf(t, worker2, ns, name) == nil, "%s was created on another cluster with the same address", name)
	}
	if of.outages {
		assert.Equal(t, killed, of.runners*of.kills)
	}
	noLeaseIsLeft(t, ns)
	noCopyIsLeft(t, ns)
	assert.DeepEqual(t, bystanders(t, ns), before)
}

// arePinned reports whether all origins name their mirrors.
func arePinned(ctx context.Context, t *testing.T, ns string, names []string) bool {
	t.Helper()
	for _, name := range names {
		origin, err := client(t, management).BatchV1().Jobs(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil || origin.Annotations[delegation.MirrorAnnotation] == "" {
			return false
		}
	}
	return true
}

// injectFaults applies one fault after the other to both sides, until ctx ends. Before arePinned, the
// address of the worker does not lead to another cluster: nothing would show that it is a fault, and the
// Jobs would run there.
func injectFaults(ctx context.Context, t *testing.T, of trial, proxies map[string]*faulty, survived map[string]int, arePinned func() bool) {
	t.Helper()
	chance := rand.New(rand.NewPCG(of.seed, 0))
	all := faults()
	for n := 0; n < of.faults && ctx.Err() == nil; n++ {
		cluster := []string{management, worker1}[chance.IntN(2)]
		lasts := time.Duration(200+chance.IntN(1300)) * time.Millisecond
		one := all[chance.IntN(len(all))]
		if of.outages && chance.IntN(10) == 0 {
			survived[outage(ctx, t, chance, cluster, 3*lasts)]++
			continue
		}
		if one.name == anotherCluster && cluster == worker1 && !arePinned() {
			pause(ctx, lasts)
			continue
		}
		proxies[cluster].inject(ctx, one, lasts)
		survived[one.name]++
		pause(ctx, time.Duration(100+chance.IntN(600))*time.Millisecond)
	}
}

// outage stops or freezes a part of a control plane for a while.
func outage(ctx context.Context, t *testing.T, chance *rand.Rand, cluster string, lasts time.Duration) string {
	t.Helper()
	const frozen, full = "API server frozen", "etcd full"
	kind := []string{"API server killed", "controller manager killed", frozen, full}[chance.IntN(4)]
	end := func() error { return set.Start(context.WithoutCancel(ctx), cluster) }
	var err error
	switch kind {
	case frozen:
		var thaw func()
		thaw, err = set.Freeze(cluster)
		end = func() error { thaw(); return nil }
	case full:
		end, err = set.Fill(t.Context(), cluster)
	case "API server killed":
		err = set.Stop(t.Context(), cluster)
	default:
		err = set.StopControllers(t.Context(), cluster)
	}
	if err != nil {
		t.Errorf("%s: %v", kind, err)
		return kind
	}
	pause(ctx, lasts)
	if err := end(); err != nil {
		t.Errorf("%s, and no more: %v", kind, err)
	}
	return kind
}

// bystanders returns the states of objects of other owners, on both sides. It creates them if they
// do not exist.
func bystanders(t *testing.T, ns string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, cluster := range []string{management, worker1} {
		for name, owner := range map[string]string{"theirs": "example.com/other", "mine": "", "ours-by-hand": string(delegation.Dispatch)} {
			name = "bystander-" + name
			if jobOf(t, cluster, ns, name) == nil {
				options := []fixture.Option{fixture.Suspended()}
				if owner != "" {
					options = append(options, fixture.ManagedBy(owner))
				}
				createJobs(t, cluster, fixture.New(ns, name, options...))
				eventuallyJob(t, cluster, ns, name, func(j *batchv1.Job) bool { return j != nil && (owner != "" || len(j.Status.Conditions) > 0) })
			}
			versions[cluster+"/"+name] = jobOf(t, cluster, ns, name).ResourceVersion
		}
	}
	return versions
}
