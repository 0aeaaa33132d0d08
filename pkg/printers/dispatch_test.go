package printers_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// liveTest is a Live with a clock and, if width is not 0, a terminal.
type liveTest struct {
	*printers.Live
	now time.Time
}

func newLiveTest(w io.Writer, jobs int, width func() int, color bool) *liveTest {
	l := &liveTest{now: now}
	o := printers.LiveOptions{Color: color, Now: func() time.Time { return l.now }, Started: now, Jobs: jobs}
	if width != nil {
		o.Terminal = func() (int, bool) { return width(), true }
	}
	l.Live = printers.NewLive(w, o)
	return l
}

func (l *liveTest) event(t *testing.T, events ...dispatch.Event) {
	t.Helper()
	for _, e := range events {
		l.now = e.Time.Time
		assert.NilError(t, l.Event(e))
	}
}

// TestLivePiped: piped output has one line per change, and nothing else.
func TestLivePiped(t *testing.T) {
	late := []dispatch.Event{statusCopied(0, "train", delegation.Running, 1, 0, 0), statusCopied(24*time.Hour, "train", delegation.Running, 0, 1, 0)}
	queue := changed(statusCopied(0, "train", delegation.Running, 1, 0, 0), func(e *dispatch.Event) { e.Completions, e.Ready = nil, nil })
	for name, events := range map[string][]dispatch.Event{
		"one": oneJob(), "several": severalJobs(), "hostile": hostileEvents(), "late": late,
		"queue": {queue, changed(queue, func(e *dispatch.Event) {
			e.Event, e.Message, e.Status, e.Succeeded = dispatch.Completed, "", delegation.Complete, 1
		})},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			jobs := 1
			if name == "several" {
				jobs = 20
			}
			l := newLiveTest(&out, jobs, nil, false)
			for _, e := range events {
				l.event(t, e)
				assert.NilError(t, l.Tick())
			}
			assert.NilError(t, l.Close())
			assert.Assert(t, !strings.ContainsAny(out.String(), "\x1b\r\t"), "%q", out.String())
			golden.Assert(t, out.String(), "live-"+name+".txt")
		})
	}
}

// frames returns the content of a terminal a second after each event.
func frames(t *testing.T, width, jobs int, events []dispatch.Event) []string {
	t.Helper()
	v := newVT(t, width)
	l := newLiveTest(v, jobs, func() int { return v.width }, true)
	assert.NilError(t, l.Tick())
	var shown []string
	show := func() {
		shown = append(shown, fmt.Sprintf("%s\n%s\n", strings.Repeat("=", width), strings.Join(v.lines(), "\n")))
	}
	show()
	for _, e := range events {
		l.event(t, e)
		l.now = l.now.Add(s)
		assert.NilError(t, l.Tick())
		show()
	}
	assert.NilError(t, l.Close())
	show()
	assert.Equal(t, v.wrapped, 0)
	return shown
}

func TestLiveOnATerminal(t *testing.T) {
	for _, width := range []int{80, 40} {
		for name, events := range map[string][]dispatch.Event{"one": oneJob(), "several": severalJobs(), "hostile": hostileEvents()} {
			jobs := 1
			if name == "several" {
				jobs = 20
			}
			t.Run(fmt.Sprint(name, width), func(t *testing.T) {
				shown := frames(t, width, jobs, events)
				if name != "one" {
					shown = shown[len(shown)-2:]
				}
				golden.Assert(t, strings.Join(shown, ""), fmt.Sprintf("live-%s-%d.txt", name, width))
			})
		}
	}
}

func TestLiveColor(t *testing.T) {
	var out bytes.Buffer
	l := newLiveTest(&out, 1, func() int { return 80 }, true)
	l.event(t, oneJob()...)
	assert.NilError(t, l.Close())
	golden.Assert(t, strings.ReplaceAll(visible(out.String()), "\r", "␍"), "live-color.txt")
}

// anything returns a random event with a message that no other event has.
func anything(r *rand.Rand, i int) dispatch.Event {
	types := dispatch.EventTypes()
	e := statusCopied(time.Duration(i)*300*time.Millisecond, fmt.Sprintf("train-%d", r.IntN(5)), delegation.Statuses()[r.IntN(7)], r.Int32N(5), r.Int32N(5), r.Int32N(5))
	if r.IntN(3) == 0 {
		e.Event = types[r.IntN(len(types))]
		e.Message = fmt.Sprintf("message-%d. %s", i, strings.Repeat("some words "+wide, r.IntN(20)))
	}
	if e.Event == dispatch.Disconnected || e.Event == dispatch.Reconnected {
		e.Origin, e.Mirror = nil, nil
	}
	return e
}

// TestLiveErasesOldFooters: whatever events come and however the terminal is resized between two
// draws, each line is there once and complete, and no part of an old footer is left.
func TestLiveErasesOldFooters(t *testing.T) {
	line := regexp.MustCompile(`^(\d\d:\d\d:\d\d {2}| {10,}\S)`)
	for _, tt := range []struct {
		name            string
		resized, reflow bool
	}{{"fixed", false, false}, {"cut", true, false}, {"broken anew", true, true}} {
		for _, width := range []int{80, 40} {
			t.Run(fmt.Sprint(tt.name, width), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, uint64(width)))
				v := newVT(t, width)
				l := newLiveTest(v, 20, func() int { return v.width }, true)
				var messages []string
				for i := range 400 {
					e := anything(r, i)
					if e.Event != dispatch.StatusCopied && e.Message != string(e.Status) {
						messages = append(messages, fmt.Sprintf("message-%d.", i))
					}
					l.event(t, e)
					if r.IntN(2) == 0 {
						assert.NilError(t, l.Tick())
					}
					if tt.resized && r.IntN(4) == 0 {
						v.resize(38+r.IntN(80), tt.reflow)
						assert.NilError(t, l.Tick())
					}
					lines := v.lines()
					footer := lines[v.lineOfCursor():]
					assert.Assert(t, len(footer) <= 5 && !line.MatchString(footer[0]), "%q", footer)
					for _, f := range footer {
						assert.Assert(t, lipgloss.Width(f) < v.width, "%q is too wide for %d", f, v.width)
					}
				}
				assert.NilError(t, l.Close())
				assert.Equal(t, v.wrapped, 0)
				lines := v.lines()
				assert.Equal(t, lines[len(lines)-1], "", "the cursor is not on a fresh line")
				for _, text := range lines[:len(lines)-1] {
					assert.Assert(t, line.MatchString(text), "%q is no line of an event", text)
				}
				all := strings.Join(lines, "\n")
				for _, m := range messages {
					if tt.reflow || !tt.resized {
						assert.Equal(t, strings.Count(all, m), 1, m)
					}
				}
			})
		}
	}
}

// TestLiveRedrawInterval: the footer of hundreds of Jobs is not redrawn for each of them.
func TestLiveRedrawInterval(t *testing.T) {
	var w terminal
	l := newLiveTest(&w, 500, func() int { return 80 }, false)
	l.event(t, statusCopied(0, "train", delegation.Running, 0, 0, 0))
	drawn := len(w.writes)
	for i := range 99 {
		l.event(t, statusCopied(time.Duration(i)*time.Millisecond, "train", delegation.Running, int32(i), 0, 0))
	}
	assert.Equal(t, len(w.writes), drawn)
	l.event(t, statusCopied(100*time.Millisecond, "train", delegation.Running, 1000, 0, 0))
	assert.Equal(t, len(w.writes), drawn+1)
	assert.NilError(t, l.Tick())
	assert.Equal(t, len(w.writes), drawn+1, "an unchanged footer was drawn again")
}

func TestLiveAbove(t *testing.T) {
	v := newVT(t, 80)
	l := newLiveTest(v, 1, func() int { return v.width }, false)
	above := l.Above(v)
	write := func(text string) {
		_, err := io.WriteString(above, text)
		assert.NilError(t, err)
	}
	write("Warning: before\n")
	l.event(t, oneJob()[:4]...)
	write("Warning: between\n")
	assert.NilError(t, l.Close())
	write("Warning: after\n")
	assert.DeepEqual(t, v.lines(), []string{
		"Warning: before",
		"12:00:00  Lease taken     no other dispatcher holds it",
		"12:00:01  mirror created  made on worker-1",
		"12:00:02  Pending         0 ready, 0 succeeded, 0 failed of 4",
		"12:00:04  Running         1 ready, 0 succeeded, 0 failed of 4",
		"Warning: between", "Warning: after", "",
	})
}

func TestLiveReportsWriteErrors(t *testing.T) {
	l := newLiveTest(&full{}, 1, func() int { return 80 }, false)
	assert.ErrorIs(t, l.Event(oneJob()[0]), errFull)
	assert.ErrorIs(t, l.Tick(), errFull)
	assert.NilError(t, l.Close())
	_, err := l.Above(&full{}).Write([]byte("x\n"))
	assert.ErrorIs(t, err, errFull)
}

// TestEventLine: JSON output follows its schema, one line per event.
func TestEventLine(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/dispatchevent.json")
	assert.NilError(t, err)
	events := append(append(oneJob(), severalJobs()[:10]...), newEvent(0, dispatch.Warned, "", "a <b> & 'c'"))
	for _, e := range append(events, hostileEvents()[:len(dispatch.EventTypes())]...) {
		if e.Status == evil {
			e.Status = ""
		}
		out := printed(t, func(out *bytes.Buffer) error { return printers.EventLine(out, &e) })
		assert.Equal(t, strings.Index(out, "\n"), len(out)-1)
		assert.Assert(t, !strings.ContainsAny(out, "\x1b\r"), "%q", out)
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		assert.NilError(t, err)
		assert.NilError(t, schema.Validate(document))
	}
	assert.Equal(t, printed(t, func(out *bytes.Buffer) error { return printers.EventLine(out, &events[len(events)-1]) }),
		`{"kind":"DispatchEvent","apiVersion":"jobmanagedby.github.io/v1alpha1","sequence":1,"time":"2025-03-01T12:00:00.000000Z",`+
			`"event":"Warned","origin":null,"mirror":null,"message":"a <b> & 'c'","status":"","completions":null,"succeeded":0,"failed":0,"active":0,"ready":null}`+"\n")
	assert.ErrorIs(t, printers.EventLine(&full{}, &events[0]), errFull)
}

// newEvent returns an event about a Job, some time after the start.
func newEvent(after time.Duration, what dispatch.EventType, name, message string) dispatch.Event {
	e := dispatch.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: dispatch.APIVersion, Kind: dispatch.EventKind},
		Sequence: 1, Time: metav1.NewMicroTime(now.Add(after)), Event: what, Message: message,
	}
	if name != "" {
		e.Origin = &dispatch.Ref{Context: "management", ClusterUID: "c1", Namespace: "ml", Name: name, UID: "u1"}
		e.Mirror = &dispatch.Ref{Context: "worker-1", ClusterUID: "c2", Namespace: "ml", Name: name, UID: "u2"}
	}
	return e
}

// statusCopied returns a StatusCopied of a Job with four completions.
func statusCopied(after time.Duration, name string, s delegation.Status, ready, succeeded, failed int32) dispatch.Event {
	e := withState(newEvent(after, dispatch.StatusCopied, name, string(s)), s, ready, succeeded, failed)
	e.LagSeconds = 0.042
	return e
}

func withState(e dispatch.Event, s delegation.Status, ready, succeeded, failed int32) dispatch.Event {
	e.Status, e.Completions, e.Ready, e.Active, e.Succeeded, e.Failed = s, ptr.To[int32](4), &ready, ready, succeeded, failed
	return e
}

func changed(e dispatch.Event, change func(*dispatch.Event)) dispatch.Event {
	change(&e)
	return e
}

const s = time.Second

// oneJob returns the events of a Job during which a cluster is lost.
func oneJob() []dispatch.Event {
	return []dispatch.Event{
		changed(newEvent(0, dispatch.LeaseTaken, "train", "no other dispatcher holds it"), func(e *dispatch.Event) { e.Mirror = nil }),
		withState(newEvent(s, dispatch.MirrorCreated, "train", "made on worker-1"), delegation.Pending, 0, 0, 0),
		statusCopied(2*s, "train", delegation.Pending, 0, 0, 0),
		statusCopied(4*s, "train", delegation.Running, 1, 0, 0),
		statusCopied(5*s, "train", delegation.Running, 3, 0, 0),
		statusCopied(5*s, "train", delegation.Running, 3, 0, 0),
		newEvent(40*s, dispatch.Disconnected, "", "context worker-1: could not reach the cluster: connection refused; Jobs keep running, retrying"),
		newEvent(70*s, dispatch.Reconnected, "", "context worker-1 answers again"),
		withState(newEvent(80*s, dispatch.SpecPushed, "train", "changed on the mirror as on the origin: spec.parallelism=4"), delegation.Running, 3, 0, 0),
		statusCopied(122*s, "train", delegation.Running, 1, 3, 1),
		statusCopied(123*s, "train", delegation.Complete, 0, 4, 1),
		withState(newEvent(123*s, dispatch.Completed, "train", ""), delegation.Complete, 0, 4, 1),
	}
}

// severalJobs returns the events of Jobs with every possible end.
func severalJobs() []dispatch.Event {
	var events []dispatch.Event
	for i, end := range []dispatch.EventType{
		dispatch.JobFailed, dispatch.Cancelled, dispatch.OriginDeleted, dispatch.Aborted, dispatch.Detached, dispatch.TimedOut, dispatch.Interrupted,
	} {
		name := fmt.Sprintf("train-%d", i)
		events = append(events,
			withState(newEvent(s, dispatch.MirrorFound, name, "its mirror on worker-1 already exists"), delegation.Running, 2, 1, 0),
			statusCopied(2*s, name, delegation.Running, 1, 2, 0),
		)
		switch end {
		case dispatch.JobFailed:
			events = append(events, withState(newEvent(3*s, end, name, "it failed (BackoffLimitExceeded): Job has reached the specified backoff limit"), delegation.Failed, 0, 2, 7))
		case dispatch.Aborted:
			const why = "its mirror on worker-1 was deleted by another client; the origin stays as it is"
			events = append(events, newEvent(3*s, dispatch.MirrorDeleted, name, why), newEvent(3*s, end, name, "job ml/"+name+": "+why))
		default:
			events = append(events, newEvent(3*s, end, name, "its mirror on worker-1 keeps running, and its status is no longer copied"))
		}
	}
	return append(events, newEvent(4*s, dispatch.Warned, "train-8", "it is old"), changed(newEvent(4*s, "Unheard", "train-9", ""), func(e *dispatch.Event) { e.Mirror = nil }))
}

// hostileEvents returns events with text that must not reach a terminal unescaped.
func hostileEvents() []dispatch.Event {
	var events []dispatch.Event
	for i, what := range append(dispatch.EventTypes(), evil) {
		events = append(events, changed(statusCopied(time.Duration(i)*s, evil, evil, 1, int32(i), 0), func(e *dispatch.Event) {
			e.Event, e.Message, e.Origin.Namespace, e.Mirror.Context = what, evil+wide, evil, evil
		}))
	}
	return events
}
