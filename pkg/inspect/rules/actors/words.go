package actors

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// stepWords are the words for a step after "waits for Kueue to".
type stepWords struct {
	// one is for one object, many for several.
	one, many string
	// preposition comes before the target.
	preposition string
}

func wordsOf(d liveness.Duty) stepWords {
	return map[liveness.Duty]stepWords{
		liveness.DutyWorkload: {"create its Workload", "create their Workloads", "on"},
		liveness.DutyQuota:    {"decide on its quota", "decide on their quota", "on"},
		liveness.DutyNominate: {"nominate clusters for it", "nominate clusters for them", "on"},
		liveness.DutyAdmit:    {"admit its Workload", "admit their Workloads", "on"},
		liveness.DutyCopy:     {"copy its Workload", "copy their Workloads", "to"},
		liveness.DutyGate:     {"open its preemption gate", "open their preemption gates", "on"},
		liveness.DutyMirror:   {"create its mirror", "create their mirrors", "on"},
		liveness.DutyRecord:   {"record that a worker admitted it", "record that workers admitted them", "on"},
		liveness.DutyWithdraw: {"withdraw its admission", "withdraw their admissions", "on"},
		liveness.DutyResume:   {"resume its mirror", "resume their mirrors", "on"},
		liveness.DutySpec:     {"resize its mirror", "resize their mirrors", "on"},
		liveness.DutyStatus:   {"copy the status of its mirror", "copy the status of their mirrors", "on"},
		liveness.DutyEnd:      {"copy the last status of its mirror", "copy the last status of their mirrors", "on"},
		liveness.DutyStop:     {"stop it", "stop them", "on"},
		liveness.DutyRelease:  {"release its quota", "release their quota", "on"},
		liveness.DutyRemove:   {"clean up after it", "clean up after them", "on"},
		liveness.DutyPickUp:   {"pick it up", "pick them up", "on"},
		liveness.DutyPods:     {"create its Pods", "create their Pods", "on"},
		liveness.DutySchedule: {"find nodes for its Pods", "find nodes for their Pods", "on"},
		liveness.DutyStart:    {"start its Pods", "start their Pods", "on"},
		liveness.DutyServe:    {"write its status", "write their status", "on"},
	}[d]
}

// waitText says how many objects wait for a step of an actor: "hub: 3 wait for Kueue to create their mirrors on tokyo".
func waitText(actor liveness.Actor, waiting []view.Sighting) string {
	n, verb := len(waiting), "wait"
	if n == 1 {
		verb = "waits"
	}
	who := strings.TrimSuffix(actor.String(), " on "+actor.Context)
	return fmt.Sprintf("%s: %d %s for %s to %s", actor.Context, n, verb, who, stepsText(waiting, n))
}

// stepsText describes the steps that n objects wait for, each once, with the places of each step.
func stepsText(waiting []view.Sighting, n int) string {
	var steps []string
	for _, g := range view.GroupBy(waiting, func(s view.Sighting) liveness.Duty { return s.Awaits.Duty }) {
		words := wordsOf(g.Key)
		text := words.one
		if n > 1 {
			text = words.many
		}
		var targets []string
		for _, t := range view.GroupBy(g.Values, func(s view.Sighting) string { return s.Awaits.Target }) {
			if t.Key != "" {
				targets = append(targets, t.Key)
			}
		}
		if len(targets) > 0 {
			text = fmt.Sprintf("%s %s %s", text, words.preposition, inspect.And(targets))
		}
		steps = append(steps, text)
	}
	return inspect.And(steps)
}
