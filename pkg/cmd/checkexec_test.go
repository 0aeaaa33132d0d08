package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// collector returns a program for --exec that appends its input to a file, and then runs more.
func collector(t *testing.T, more string) (program, file string) {
	t.Helper()
	dir := t.TempDir()
	program, file = filepath.Join(dir, "collect"), filepath.Join(dir, "collected")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s %%s %%s ' \"$1\" \"$KUBECTL_JOBS_MANAGEDBY_EVENT\" \"$KUBECTL_JOBS_MANAGEDBY_FINGERPRINT\" >>%[1]s\ncat >>%[1]s\n%[2]s\n", file, more)
	assert.NilError(t, os.WriteFile(program, []byte(script), 0o700))
	return program, file
}

// collected returns the complete lines that a collector has written.
func collected(t *testing.T, file string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	assert.NilError(t, err)
	lines := strings.SplitAfter(string(content), "\n")
	return lines[:len(lines)-1]
}

// TestCheckExec: a command runs when a finding appears and when it is cleared. Its words reach it
// unchanged, without a shell.
func TestCheckExec(t *testing.T) {
	t.Parallel()
	program, file := collector(t, "")
	f := newWatchedFleet(t, filepath.Join(recordings, "no-queue-name"))
	w := f.follow("check", "-A", "--grace", "0s", "--exec", program+" '$(touch x);&'")
	w.until("it watches", func() bool { _, watches := f.count(); return watches > 0 })
	w.until("the finding is reported", func() bool { return len(collected(t, file)) == 1 })
	w.rest(2)
	f.happen("kwok-mgr", "/apis/batch/v1/jobs", "DELETED")
	w.until("its end is reported", func() bool {
		w.rest(1)
		return len(collected(t, file)) == 2
	})
	assert.Equal(t, w.stop(), 130)
	assert.Equal(t, w.errOut.String(), "")

	fingerprints := map[string]bool{}
	for i, event := range []inspect.FindingEventType{inspect.FindingAppeared, inspect.FindingCleared} {
		words := strings.SplitN(collected(t, file)[i], " ", 5)
		assert.Equal(t, strings.Join(words[:3], " "), "$(touch x);& "+string(event))
		document := words[4]
		var e inspect.FindingEvent
		assert.NilError(t, json.Unmarshal([]byte(document), &e))
		assert.Equal(t, e.Event, event)
		assert.Equal(t, e.Finding.Code, "JM013")
		assert.Equal(t, words[3], e.Finding.Fingerprint)
		fingerprints[e.Finding.Fingerprint] = true
		fits(t, "findingevent", document)
	}
	assert.Equal(t, len(fingerprints), 1)
}

// TestCheckExecFails: a command that fails, or that does not end, is reported, and check
// continues.
func TestCheckExecFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		more string
		args []string
		want string
	}{
		"exit code": {"echo some text >&2; echo no route >&2; exit 7", nil, "failed for JM013 Job default/train (new): exit status 7: no route\n"},
		"timeout":   {"exec sleep 600", []string{"--exec-timeout", "200ms"}, "failed for JM013 Job default/train (new): still running after 200ms (--exec-timeout)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, _ := collector(t, tt.more)
			f := newWatchedFleet(t, filepath.Join(recordings, "no-queue-name"))
			w := f.follow(append([]string{"check", "-A", "--grace", "0s", "--exec", program}, tt.args...)...)
			w.until("it says so", func() bool {
				w.rest(1)
				return strings.HasSuffix(w.errOut.String(), tt.want)
			})
			w.rest(3)
			assert.Equal(t, w.stop(), 130)
			assert.Equal(t, w.errOut.String(), "warning: --exec "+program+" "+tt.want, "once")
		})
	}
}

// TestCheckExecEnds: Ctrl-C ends a running command.
func TestCheckExecEnds(t *testing.T) {
	t.Parallel()
	program, file := collector(t, "exec sleep 600")
	f := newWatchedFleet(t, filepath.Join(recordings, "no-queue-name"))
	w := f.follow("check", "-A", "--grace", "0s", "--exec", program)
	w.until("it runs", func() bool { return len(collected(t, file)) == 1 })
	assert.Equal(t, w.stop(), 130)
}

// TestCheckExecUsage: a command that cannot work is refused before anything is read.
func TestCheckExecUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--exec-timeout requires --exec":                 {"-w", "--exec-timeout", "5s"},
		"--exec requires --watch":                        {"--exec", "true"},
		"--exec cannot be combined with --fail-on none":  {"-w", "--exec", "true", "--fail-on", "none"},
		`--exec "  " is not a command: no words`:         {"-w", "--exec", "  "},
		`--exec "" is not a command: no words`:           {"-w", "--exec", ""},
		`--exec "a 'b" is not a command: EOF found`:      {"-w", "--exec", "a 'b"},
		`--exec: cannot run "no-such-program-anywhere"`:  {"-w", "--exec", "no-such-program-anywhere -x"},
		"--exec-timeout must be more than zero, not -1s": {"-w", "--exec", "true", "--exec-timeout", "-1s"},
	} {
		_, errOut, code := run(t, append([]string{"check"}, args...)...)
		assert.Equal(t, code, 2, errOut)
		assert.Assert(t, strings.Contains(errOut, want), errOut)
	}
}
