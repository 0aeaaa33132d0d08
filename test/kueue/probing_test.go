package kueue

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// probing is a running doctor --probe.
type probing struct {
	cmd *exec.Cmd
	out bytes.Buffer
	// notes receives the lines of stderr, and log has those that were received.
	notes chan string
	log   strings.Builder
}

// startProbe starts doctor --probe in the namespace of these tests.
func startProbe(t *testing.T, args ...string) *probing {
	t.Helper()
	p := &probing{notes: make(chan string, 100)}
	p.cmd = set.Kubectl(t.Context(), append([]string{"jobs-managedby", "doctor", "--probe", "-n", probeName}, args...)...)
	p.cmd.Stdout = &p.out
	stderr, err := p.cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, p.cmd.Start())
	go func() {
		defer close(p.notes)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.notes <- lines.Text()
		}
	}()
	return p
}

// await waits for a note that matches, and returns its first group.
func (p *probing) await(t *testing.T, pattern string) string {
	t.Helper()
	for note := range p.notes {
		fmt.Fprintln(&p.log, note)
		if found := regexp.MustCompile(pattern).FindStringSubmatch(note); found != nil {
			return found[len(found)-1]
		}
	}
	t.Fatalf("no note matches %q:\n%s\n%s", pattern, &p.log, &p.out)
	return ""
}

// end waits for the end, and returns the exit code.
func (p *probing) end(t *testing.T) int {
	t.Helper()
	for note := range p.notes {
		fmt.Fprintln(&p.log, note)
	}
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		assert.NilError(t, err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// probeOnce runs doctor --probe -o json and expects an exit code.
func probeOnce(t *testing.T, code int, args ...string) *inspect.ProbeReport {
	t.Helper()
	p := startProbe(t, append([]string{"-o", "json"}, args...)...)
	got := p.end(t)
	assert.Equal(t, got, code, "%s\n%s", &p.log, &p.out)
	r := &inspect.ProbeReport{}
	assert.NilError(t, json.Unmarshal(p.out.Bytes(), r), p.out.String())
	t.Logf("%s %s; %s", r.Result, r.Message, &p.log)
	return r
}

// stoppedAt checks that a probe failed at a step for a reason, that the steps before it are done,
// and that nothing is left.
func stoppedAt(t *testing.T, r *inspect.ProbeReport, step inspect.ProbeStepName, reason string) {
	t.Helper()
	assert.Equal(t, r.Result, inspect.ProbeFailed)
	stopped := r.Stopped()
	assert.Assert(t, stopped != nil)
	assert.Equal(t, stopped.Name, step, "%+v", r.Steps)
	assert.Equal(t, stopped.State, inspect.StepFailed)
	assert.Assert(t, strings.Contains(r.Message, reason), r.Message)
	assert.Equal(t, r.Step(inspect.ProbeCleaned).State, inspect.StepDone, "%+v", r.Left)
	nothingLeft(t)
}
