package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// maxSkew is how far the clocks of two clusters may differ.
const maxSkew = 30 * time.Second

func clocksApart() Rule {
	return Rule{
		Code: "JM113", Title: "the clocks of clusters that share Jobs differ", Severity: inspect.Warning,
		Holds: "the clocks of clusters that share Jobs agree",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `An origin's status is copied from another cluster, with that one's times. Where the clocks differ, a
ttlSecondsAfterFinished counts from the wrong moment, so that the origin is deleted too early or too late, and the
ages and durations that tools show are wrong.`,
		Shows: `The Date headers of two API servers differ by more than 30 seconds, and one has the mirrors of the other's
Jobs.`,
		Remedy: `Set the clock of the control plane that is off, and let NTP keep it.`,
		Link:   "https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/#time-skew",
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				f, _ := v.Facts(p.Origin.Context)
				for _, m := range p.Mirrors {
					if worker, ok := v.Facts(m.Job.Context); ok && f != nil && m.Relation != inspect.ByName && v.areApart(f, worker) {
						v.Report(differ(v, f, worker, p.Origin))
					}
				}
			}
		},
	}
}

// areApart says whether the clocks of two clusters certainly differ by too much.
// A clock of which nothing is told is taken to be right: it is told where it is not.
func (v *View) areApart(a, b *inspect.Facts) bool {
	return a.Skew.Min-b.Skew.Max > maxSkew || b.Skew.Min-a.Skew.Max > maxSkew
}

// differ tells of two clocks. The one that is further from ours is taken for the
// wrong one.
func differ(v *View, a, b *inspect.Facts, origin *inspect.Job) Sighting {
	here, _ := v.Skew(a)
	there, _ := v.Skew(b)
	wrong := b
	if max(here, -here) > max(there, -there) {
		wrong = a
	}
	return Sighting{
		Object: Object{Context: wrong.Context, Kind: "Cluster", Name: wrong.Context}, Jobs: []*inspect.Job{origin}, Cause: wrong.Context,
		Message: fmt.Sprintf("the clocks of %s and %s differ by %ds", a.Context, b.Context, max(here-there, there-here)),
		Evidence: []string{
			fmt.Sprintf("%s: its API server's clock is %s", a.Context, ahead(here)),
			fmt.Sprintf("%s: its API server's clock is %s", b.Context, ahead(there)),
		},
		Remedy: command.Say("set the clock of the control plane of %s, and see on its machines that NTP runs: %s", wrong.Context, command.Of("timedatectl")),
	}
}

// ahead says how a clock is off.
func ahead(seconds int) string {
	switch {
	case seconds > 0:
		return fmt.Sprintf("%ds ahead of ours", seconds)
	case seconds < 0:
		return fmt.Sprintf("%ds behind ours", -seconds)
	}
	return "right by ours"
}
