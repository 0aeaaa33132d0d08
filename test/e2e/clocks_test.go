package e2e

import (
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// clockAhead is a variable with a duration by which the clock of the plugin is ahead of all others.
const clockAhead = "E2E_CLOCK_AHEAD"

// shiftedClock is a clock with the wrong time.
type shiftedClock struct {
	clock.RealClock
	ahead time.Duration
}

func (c shiftedClock) Now() time.Time { return time.Now().Add(c.ahead) }

func (c shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// thisProcess returns the environment of the plugin if this binary runs under its name.
func thisProcess() util.Environment {
	env := util.ThisProcess()
	if text := os.Getenv(clockAhead); text != "" {
		ahead, err := time.ParseDuration(text)
		if err != nil {
			panic(err)
		}
		env.Clock = shiftedClock{ahead: ahead}
	}
	return env
}

// runAhead runs the plugin with a clock that is ahead.
func runAhead(t *testing.T, ahead string, args ...string) string {
	t.Helper()
	cmd := command(t, append([]string{"jobs-managedby"}, args...)...)
	cmd.Env = append(cmd.Env, clockAhead+"="+ahead)
	out, err := cmd.Output()
	assert.NilError(t, err, "%s", out)
	return string(out)
}

// dispatchesAhead dispatches with a clock that is ahead.
func dispatchesAhead(t *testing.T, ahead, ns, name string) *dispatching.Process {
	t.Helper()
	cmd := command(t, "jobs-managedby", "dispatch", name, "--context", management, "--to", worker1, "-n", ns, "-o", "json")
	cmd.Env = append(cmd.Env, clockAhead+"="+ahead)
	return dispatching.Start(t, cmd)
}

// TestClocksThatDiffer checks the case that the clocks of two dispatchers are hours apart, and
// differ from those of the clusters. Each refuses to take over from the other while it is alive,
// and does so afterwards, by the changes that it observes. Output is correct by the clocks of the
// clusters, or says whose clock it is.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ns, one, other string }{
		{"clocks-ahead", "1h", "-1h"}, {"clocks-behind", "-1h", "1h"},
	} {
		t.Run(tt.ns, func(t *testing.T) {
			t.Parallel()
			origin(t, tt.ns, "train", fixture.RunsFor("1h"))
			first := dispatchesAhead(t, tt.one, tt.ns, "train")
			made := first.Expect(dispatch.MirrorCreated, "train")
			eventuallyJob(t, management, tt.ns, "train", isReady)
			refused := dispatchesAhead(t, tt.other, tt.ns, "train")
			assert.Equal(t, refused.End(), 1, refused.Stderr.String())
			assert.Assert(t, contains(refused.Stderr.String(), "already dispatched by", "by the clock of the holder"), refused.Stderr.String())

			// Every user sees how old objects are, and that a dispatcher holds them.
			for _, ahead := range []string{tt.one, tt.other} {
				rows := runAhead(t, ahead, "ls", "-o", "wide", "--no-headers", "--delegated", "-n", tt.ns, "--context", management)
				age := `([0-9]+s|[0-9]m([0-9]+s)?)`
				assert.Assert(t, regexp.MustCompile(`^ *train +jobmanagedby\.github\.io/dispatch +Running +0/1 +`+age+` +\S+ +`+age+` +Job +`+age+` .*@.* \(`+age+`\) `).MatchString(rows), "%s", rows)
				trace := runAhead(t, ahead, "trace", "train", "-n", tt.ns, "--contexts", management+","+worker1)
				assert.Assert(t, regexp.MustCompile(`note: the clock of `+management+` is 3[56][0-9][0-9]s (ahead of|behind) yours`).MatchString(trace), "%s", trace)
				codes := leaseCodes(t, "-n", tt.ns, "--contexts", management+","+worker1, "--grace", "0s")
				assert.Equal(t, len(codes), 0, "%v", codes)
			}

			// It waits for the killed dispatcher exactly as long as its Lease is valid.
			first.Signal(syscall.SIGKILL)
			first.End()
			second := dispatchesAhead(t, tt.other, tt.ns, "train")
			waits := second.Expect(dispatch.LeaseWaiting, "train")
			taken := second.Expect(dispatch.LeaseTaken, "train")
			assert.Assert(t, taken.Time.Sub(waits.Time.Time) > 13*time.Second, "%v after %v", taken.Time, waits.Time)
			assert.Equal(t, second.Expect(dispatch.MirrorFound, "train").Mirror.UID, made.Mirror.UID)
			second.Signal(syscall.SIGTERM)
			assert.Equal(t, second.End(), 143, second.Stderr.String())
		})
	}
}

// TestLeaseOfAnotherClock checks that a dispatcher waits for the Lease of a dead holder. By the
// clock of that holder, the Lease was renewed an hour ago, or will be in an hour.
func TestLeaseOfAnotherClock(t *testing.T) {
	t.Parallel()
	const ns = "clocks-lease"
	for name, ahead := range map[string]time.Duration{"early": -time.Hour, "late": time.Hour} {
		origin(t, ns, name, fixture.RunsFor("1h"))
		lease := leaseFor(jobOf(t, management, ns, name), "dora@laptop", 6, time.Now().Add(ahead))
		lease.Spec.AcquireTime = &metav1.MicroTime{Time: time.Now().Add(ahead - time.Minute)}
		_, err := client(t, management).CoordinationV1().Leases(ns).Create(t.Context(), lease, metav1.CreateOptions{})
		assert.NilError(t, err)
		d := dispatches(t, ns, name)
		waits := d.Expect(dispatch.LeaseWaiting, name)
		assert.Assert(t, contains(waits.Message, "dora@laptop", "(for 1m0s, by the clock of the holder)"), waits.Message)
		taken := d.Expect(dispatch.LeaseTaken, name)
		assert.Assert(t, taken.Time.Sub(waits.Time.Time) > 5*time.Second, "%v after %v", taken.Time, waits.Time)
		d.Expect(dispatch.MirrorCreated, name)
		d.Signal(syscall.SIGTERM)
		assert.Equal(t, d.End(), 143, d.Stderr.String())
	}
}
