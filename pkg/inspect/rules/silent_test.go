package rules_test

import (
	"slices"
	"time"
)

// silentCases are cases of TrainJobs. Before some version, their controller
// writes no status while they run, but what it creates shows that they run.
func silentCases() []testCase {
	train, other := specimenOf("trainjob"), specimenOf("jobset")
	given := append(train.workloads("worker1"), train.origin(train.spec, ""))
	mirrored := slices.Concat(given, train.copied("kwok-w1", train.spec, ""))
	alone := slices.Concat(given, []edit{add("kwok-w1", train.object(train.mirror(), train.marks(), train.spec, "")), add("kwok-w1", other.object("another", "generation: 1", other.spec, other.status))})
	pod := add("kwok-w1", `{apiVersion: v1, kind: Pod, metadata: {name: my-trainjob-node-0-0-abcde, namespace: default, uid: a-pod,
		creationTimestamp: "2026-11-20T23:43:33Z", labels: {jobset.sigs.k8s.io/jobset-name: my-trainjob},
		ownerReferences: [{apiVersion: batch/v1, kind: Job, name: my-trainjob-node-0, uid: a-job, controller: true}]},
		spec: {nodeName: node-1}, status: {phase: Running}}`)
	return []testCase{
		{name: "a TrainJob whose JobSet runs", code: "JM121", kinds: everyKind(), edits: mirrored},
		{name: "a TrainJob of which nothing was made", code: "JM121", kinds: everyKind(), fires: true, later: time.Minute, edits: alone},
		{name: "a TrainJob of which there are pods", code: "JM121", kinds: everyKind(), edits: slices.Concat(alone, []edit{pod})},
		{name: "a TrainJob of which JobSets were not read", code: "JM121", kinds: []string{"trainjob"}, edits: alone},
	}
}
