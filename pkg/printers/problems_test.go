package printers_test

import (
	"bytes"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func someProblems() []preflight.Problem {
	return []preflight.Problem{
		{Context: "management", Message: "it has a ttlSecondsAfterFinished of 60 s, which is kept", Remedy: ""},
		{
			Context: "worker-1", Blocking: true, Object: preflight.Object{Kind: "ConfigMap", Namespace: "ml", Name: "settings"}, Message: "is not there; container train reads its key epochs",
			Remedy: "copy it with --with-dependencies, or make it: kubectl --context worker-1 -n ml create configmap settings --from-literal=epochs=…",
		},
		{
			Context: "worker-1", Blocking: true, Object: preflight.Object{Kind: "ResourceQuota", Namespace: "ml", Name: "gpus"}, Message: "leaves 2 of requests.nvidia.com/gpu, and the Job asks for 4",
			Remedy: "ask for less, or have the quota raised",
		},
		{Context: "worker-1", Object: preflight.Object{Label: "Node"}, Message: "none has the labels zone=b that the pods select", Remedy: "wait for one, or change nodeSelector"},
	}
}

// severalProblems returns the problems of Jobs that share most of them.
func severalProblems() []printers.JobProblems {
	var jobs []printers.JobProblems
	for _, name := range []string{"ml/a", "ml/b", "ml/c", "ml/d", "ml/e", "ml/f", "ml/g"} {
		j := printers.JobProblems{Job: name, Problems: someProblems()[:2]}
		switch name {
		case "ml/b":
			j.Problems = append(j.Problems, someProblems()[2], someProblems()[2])
		case "ml/c", "ml/d":
			j.Problems = append(j.Problems, someProblems()[3])
		case "ml/g":
			j.Problems = []preflight.Problem{{Context: "management", Blocking: true, Message: "is finished", Remedy: "take another name"}}
		}
		jobs = append(jobs, j)
	}
	return append(jobs, printers.JobProblems{Job: "ml/fine"})
}

func TestProblems(t *testing.T) {
	one := []printers.JobProblems{{Job: "ml/train", Problems: someProblems()}}
	nasty := []printers.JobProblems{
		{Job: evil, Problems: []preflight.Problem{{Context: evil, Blocking: true, Object: preflight.Object{Label: evil}, Message: evil + wide, Remedy: evil}}},
		{Job: "b", Problems: []preflight.Problem{{}}},
	}
	for _, tt := range []struct {
		name string
		jobs []printers.JobProblems
		o    printers.TableOptions
	}{
		{"one", one, printers.TableOptions{}},
		{"one-80", one, printers.TableOptions{Width: 80}},
		{"one-40", one, printers.TableOptions{Width: 40}},
		{"color", one, printers.TableOptions{Width: 80, Color: true}},
		{"no-headers", one, printers.TableOptions{NoHeaders: true}},
		{"several-80", severalProblems(), printers.TableOptions{Width: 80}},
		{"several-wide", severalProblems(), printers.TableOptions{Wide: true}},
		{"hostile", nasty, printers.TableOptions{}},
		{"none", []printers.JobProblems{{Job: "a"}, {Job: "b"}}, printers.TableOptions{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := printed(t, func(out *bytes.Buffer) error { return printers.Problems(out, tt.jobs, tt.o) })
			for line := range strings.Lines(out) {
				assert.Assert(t, tt.o.Width == 0 || lipgloss.Width(strings.TrimSuffix(line, "\n")) <= tt.o.Width, line)
			}
			assert.Assert(t, tt.o.Color || !strings.ContainsAny(out, "\x1b\r\t"), "%q", out)
			golden.Assert(t, visible(out), "problems-"+tt.name+".txt")
		})
	}
	assert.ErrorIs(t, printers.Problems(&full{}, one, printers.TableOptions{}), errFull)
}

// TestProblemsPassedOver: a problem that kept Jobs from one cluster is no error of the Jobs.
func TestProblemsPassedOver(t *testing.T) {
	jobs := []printers.JobProblems{
		{Job: "ml/a", PassedOver: someProblems()[2:3]},
		{Job: "ml/b", PassedOver: someProblems()[2:3], Problems: someProblems()[:1]},
		{Job: "ml/c", Problems: someProblems()[2:3]},
	}
	out := printed(t, func(out *bytes.Buffer) error { return printers.Problems(out, jobs, printers.TableOptions{Width: 80}) })
	golden.Assert(t, out, "problems-passed-over.txt")
}

func TestOutcomes(t *testing.T) {
	train := dispatch.Ref{Kind: "Job", Namespace: "ml", Name: "train"}
	outcomes := []dispatch.Outcome{
		{Origin: train, Mirror: &dispatch.Ref{Context: "worker-1"}, End: dispatch.Completed},
		{Origin: dispatch.Ref{Kind: "JobSet", Namespace: "ml", Name: evil}, Mirror: &dispatch.Ref{Context: evil}, End: dispatch.JobFailed},
		{Origin: train, End: dispatch.Aborted},
	}
	out := printed(t, func(out *bytes.Buffer) error { return printers.Outcomes(out, outcomes, printers.TableOptions{}) })
	golden.Assert(t, visible(out), "outcomes.txt")
	assert.ErrorIs(t, printers.Outcomes(&full{}, outcomes, printers.TableOptions{}), errFull)
}
