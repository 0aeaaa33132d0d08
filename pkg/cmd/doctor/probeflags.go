package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/probe"
)

// probeFlags are the flags of a probe as the user gave them.
type probeFlags struct {
	probe      bool
	queue      string
	image      string
	requests   map[string]string
	timeout    time.Duration
	allWorkers bool
	dryRun     string
}

// defaultTimeout is how long a probe waits for its Job to run.
const defaultTimeout = 2 * time.Minute

// addTo adds the flags to doctor.
func (f *probeFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.probe, "probe", false, "If present, submit a tiny Job, time each step, and delete it")
	flags.StringVar(&f.queue, "queue", "", "LocalQueue for the Job of --probe; required if several use MultiKueue")
	flags.StringVar(&f.image, "image", probe.DefaultImage, "Image for the Pod of --probe. The default image runs until the probe deletes the Job")
	flags.StringToStringVar(&f.requests, "requests", nil, "Requests of the Pod of --probe, such as nvidia.com/gpu=1. The default is 10m cpu and 16Mi memory, as far as the ClusterQueue covers them, otherwise 1 of what it covers first")
	flags.DurationVar(&f.timeout, "timeout", defaultTimeout, "How long --probe waits for the status of its Pod, before exit code 3")
	flags.BoolVar(&f.allWorkers, "all-workers", false, "With --probe, ask all workers of the queue by a server-side dry run whether they accept the mirror and its Pod")
	writing.AddDryRunFlag(cmd, &f.dryRun, "print the Job of --probe", "have the API server check it, too", "Nothing is created")
	util.Describe(cmd, util.ForRun, nil, "probe", "all-workers")
	util.Describe(cmd, util.ForRun, cobra.NoFileCompletions, "queue", "image", "requests")
	util.Describe(cmd, util.ForRun, util.OneOf("1m", "5m"), "timeout")
}

// validate returns an error for flags that do not fit together.
func (f *probeFlags) validate(global *util.GlobalFlags, isGiven func(flag string) bool) error {
	if !f.probe {
		for _, flag := range []string{"queue", "image", "requests", "timeout", "all-workers", "dry-run"} {
			if isGiven(flag) {
				return fmt.Errorf("--%s requires --probe", flag)
			}
		}
		return nil
	}
	switch {
	case global.From != "":
		return errors.New("--probe cannot be combined with --from: a snapshot runs no Jobs")
	case isGiven("suppress"):
		return errors.New("--suppress is for findings, which --probe does not report")
	case isGiven("no-headers"):
		return errors.New("--no-headers cannot be combined with --probe")
	case isGiven("worker-identity"):
		return errors.New("--worker-identity is for the checks of rights, which --probe leaves out")
	case f.timeout <= 0:
		return errors.New("--timeout must be positive")
	case f.image == "" || strings.ContainsAny(f.image, " \t\n"):
		return fmt.Errorf("--image %q is not an image", f.image)
	}
	if err := writing.CheckDryRun(f.dryRun); err != nil {
		return err
	}
	for name, quantity := range f.requests {
		if _, err := resource.ParseQuantity(quantity); err != nil {
			return fmt.Errorf("--requests %s=%s: %q is not a quantity, such as 1 or 100m", name, quantity, quantity)
		}
	}
	return nil
}
