package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/shlex"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Environment variables of the command that --exec runs.
const (
	eventVariable       = "KUBECTL_JOBS_MANAGEDBY_EVENT"
	fingerprintVariable = "KUBECTL_JOBS_MANAGEDBY_FINGERPRINT"
)

// killDelay is how long a command may take to end after Ctrl-C or --exec-timeout, before it is killed with its
// children. The next Ctrl-C kills it at once.
const killDelay = 5 * time.Second

// parseCommand splits the value of --exec into words as a shell would, without running one.
func parseCommand(line string) ([]string, error) {
	words, err := shlex.Split(line)
	if err == nil && len(words) == 0 {
		err = errors.New("no words")
	}
	if err != nil {
		return nil, fmt.Errorf("--exec %q is not a command: %w", line, err)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("--exec: cannot run %q: %w", words[0], err)
	}
	return words, nil
}

// notifier runs a command for each finding that appears or is cleared, one at a time.
type notifier struct {
	command []string
	// timeout is how long a run may take, killDelay how long it may then take to end.
	timeout, killDelay time.Duration
	// leastSeverity is the lowest severity that is reported.
	leastSeverity inspect.Severity
	env           []string
	clock         clock.Clock

	// open are the findings that were reported and not cleared, by fingerprint.
	open map[string]openFinding

	mutex sync.Mutex
	queue []inspect.FindingEvent
	// failed is the number of failed runs, and failure describes the last of them.
	failed  int
	failure string
	// more has a value while the queue is not empty.
	more chan struct{}
}

// openFinding is a finding with the parts that could not be read when it was last seen.
type openFinding struct {
	inspect.Finding
	unread sets.Set[string]
}

// start runs commands until ctx ends. The returned function waits for the last one.
func (n *notifier) start(ctx context.Context) (wait func()) {
	n.open, n.more = map[string]openFinding{}, make(chan struct{}, 1)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-n.more:
			}
			for e, ok := n.next(); ok && ctx.Err() == nil; e, ok = n.next() {
				if err := n.run(ctx, e); err != nil && ctx.Err() == nil {
					n.fail(e, err)
				}
			}
		}
	})
	return running.Wait
}

// update compares findings with the open ones. A finding counts as cleared only if every part that
// was read when it was found is still readable.
func (n *notifier) update(list *inspect.FindingList) {
	unread := unreadParts(list)
	now := sets.New[string]()
	for _, f := range list.Items {
		if !f.Severity.IsAtLeast(n.leastSeverity) {
			continue
		}
		now.Insert(f.Fingerprint)
		if _, isOpen := n.open[f.Fingerprint]; !isOpen {
			n.add(inspect.FindingAppeared, f)
		}
		n.open[f.Fingerprint] = openFinding{Finding: f, unread: unread}
	}
	for _, fingerprint := range sets.List(sets.KeySet(n.open).Difference(now)) {
		if f := n.open[fingerprint]; f.unread.IsSuperset(unread) {
			delete(n.open, fingerprint)
			n.add(inspect.FindingCleared, f.Finding)
		}
	}
}

// unreadParts returns the contexts, and parts of them, that could not be read.
func unreadParts(list *inspect.FindingList) sets.Set[string] {
	parts := sets.New[string]()
	for _, e := range list.Errors {
		parts.Insert(e.Context + " " + strings.Join(e.NotJudged, " "))
	}
	for _, u := range list.Unchecked {
		parts.Insert(u.What + " " + strings.Join(u.Contexts, " "))
	}
	return parts
}

func (n *notifier) add(event inspect.FindingEventType, f inspect.Finding) {
	e := inspect.NewFindingEvent(event, f)
	e.Time = metav1.NewTime(n.clock.Now().UTC())
	n.mutex.Lock()
	n.queue = append(n.queue, *e)
	n.mutex.Unlock()
	select {
	case n.more <- struct{}{}:
	default:
	}
}

func (n *notifier) next() (inspect.FindingEvent, bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if len(n.queue) == 0 {
		return inspect.FindingEvent{}, false
	}
	e := n.queue[0]
	n.queue = slices.Delete(n.queue, 0, 1)
	return e, true
}

// run runs the command for an event. Its output is kept only for the error.
func (n *notifier) run(ctx context.Context, e inspect.FindingEvent) error {
	input, err := json.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, n.timeout, fmt.Errorf("still running after %s (--exec-timeout)", n.timeout))
	defer cancel()
	var output lastLine
	cmd := exec.CommandContext(ctx, n.command[0], n.command[1:]...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(append(input, '\n')), &output
	cmd.Env = append(slices.Clone(n.env), eventVariable+"="+string(e.Event), fingerprintVariable+"="+e.Finding.Fingerprint)
	cmd.WaitDelay = n.killDelay
	kill := endWithChildren(cmd)
	if err = cmd.Start(); err == nil {
		stop := killAtNextSignal(ctx, kill)
		err = cmd.Wait()
		stop()
	}
	if ctx.Err() != nil {
		kill()
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil && len(output) > 0 {
		err = fmt.Errorf("%w: %s", err, output)
	}
	return err
}

// killAtNextSignal calls kill at the first signal after the end of ctx, until it is stopped. The command is in a
// process group of its own, so that signal would end only this process.
func killAtNextSignal(ctx context.Context, kill func()) (stop func()) {
	received, stopped := make(chan os.Signal, 1), make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		util.NotifyEnd(received)
		defer signal.Stop(received)
		select {
		case <-received:
			kill()
		case <-stopped:
		}
	})
	return func() {
		unregister()
		close(stopped)
	}
}

func (n *notifier) fail(e inspect.FindingEvent, err error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.failed++
	n.failure = fmt.Sprintf("warning: --exec %s failed for %s %s (%s): %v", n.command[0], e.Finding.Code, delegation.Named(e.Finding.Kind, e.Finding.Namespace, e.Finding.Name), e.Event, err)
}

// notes describes the last failed run; none if all succeeded.
func (n *notifier) notes() []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	switch n.failed {
	case 0:
		return nil
	case 1:
		return []string{n.failure}
	}
	return []string{fmt.Sprintf("%s (%d runs failed)", n.failure, n.failed)}
}

// lastLine keeps the last written line, up to a limit.
type lastLine string

// lineLimit is the number of bytes of a line that are kept.
const lineLimit = 200

// Write implements io.Writer.
func (l *lastLine) Write(p []byte) (int, error) {
	lines := strings.Split(strings.TrimRight(string(p), "\n"), "\n")
	last := strings.ToValidUTF8(lines[len(lines)-1], "")
	*l = lastLine(last[:min(len(last), lineLimit)])
	return len(p), nil
}
