package rules_test

func lifeCases() []testCase {
	var all []testCase
	for _, cases := range [][]testCase{statusNotCopiedCases(), hangingCases(), ttlCases(), clockCases(), behindCases(), blockedCases()} {
		all = append(all, cases...)
	}
	return all
}

func statusNotCopiedCases() []testCase {
	over := patch("kwok-w1", "Job/train", `{status: {active: 0, ready: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]}}`)
	later := patch("kwok-w1", "Job/train", `{status: {startTime: "2026-11-20T23:43:28Z"}}`)
	return []testCase{
		{name: "MultiKueue has not copied it", code: "JM110", base: "running", fires: true, edits: []edit{over}},
		{name: "dispatched, and not copied", code: "JM110", base: "running", fires: true, edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "", ended),
		}},
		{name: "finished just now", code: "JM110", base: "running", edits: []edit{
			patch("kwok-w1", "Job/train", `{status: {active: 0, ready: 0, succeeded: 2, conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-20T23:43:42Z"}]}}`),
		}},
		{name: "both have finished", code: "JM110", base: "running", edits: []edit{
			addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "", ended),
		}},
		{name: "it was given to another cluster", code: "JM110", base: "running", edits: []edit{
			over, patch("kwok-mgr", "Workload/job-train-1c348", `{status: {clusterName: worker2}}`),
		}},
		{name: "not finished", code: "JM110", base: "running"},
		{name: "started again while it runs", code: "JM138", base: "running", fires: true, edits: []edit{later}},
		{name: "started again, and finished", code: "JM138", base: "running", fires: true, edits: []edit{later, over}},
		{name: "its origin is suspended", code: "JM138", base: "running", edits: []edit{later, patch("kwok-mgr", "Job/train", `{spec: {suspend: true}}`)}},
		{name: "evicted, and not started again", code: "JM138", base: "running", edits: []edit{
			later, patch("kwok-w1", "Job/train", `{spec: {suspend: true}, status: {active: 0, ready: 0}}`),
		}},
		{name: "the same start time", code: "JM138", base: "running"},
	}
}

func hangingCases() []testCase {
	deleted := func(finalizers string) string {
		return `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [` + finalizers + `]}}`
	}
	return []testCase{
		{name: "an origin", code: "JM111", base: "running", fires: true, edits: []edit{patch("kwok-mgr", "Job/train", deleted("example.com/cleanup"))}},
		{name: "a mirror", code: "JM111", base: "running", fires: true, edits: []edit{patch("kwok-w1", "Job/train", deleted("example.com/cleanup"))}},
		{name: "an origin that waits for Pods with finalizers", code: "JM111", base: "running", fires: true, edits: []edit{
			patch("kwok-mgr", "Job/train", deleted("foregroundDeletion")),
		}},
		{name: "a mirror that waits for its pods", code: "JM111", base: "running", edits: []edit{patch("kwok-w1", "Job/train", deleted("foregroundDeletion"))}},
		{name: "a Job that is not delegated", code: "JM111", base: "same-name-on-workers", edits: []edit{patch("kwok-w1", "Job/train", deleted("example.com/cleanup"))}},
		{name: "not deleted", code: "JM111", base: "running", edits: []edit{patch("kwok-mgr", "Job/train", `{metadata: {finalizers: [example.com/cleanup]}}`)}},
	}
}

func ttlCases() []testCase {
	return []testCase{
		{name: "a short TTL", code: "JM112", base: "running", fires: true, edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 10", started),
		}},
		{name: "a long TTL", code: "JM112", base: "running", edits: []edit{
			addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 3600", started),
		}},
		{name: "the origin has finished", code: "JM112", base: "running", edits: []edit{
			addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 10", ended),
		}},
		{name: "MultiKueue's", code: "JM112", base: "running", fires: true, edits: []edit{
			patch("kwok-w1", "Job/train", `{spec: {ttlSecondsAfterFinished: 10}}`),
		}},
		{name: "MultiKueue's, long enough", code: "JM112", base: "running", edits: []edit{
			patch("kwok-w1", "Job/train", `{spec: {ttlSecondsAfterFinished: 60}}`),
		}},
	}
}

func clockCases() []testCase {
	return []testCase{
		{name: "the worker's is ahead", code: "JM113", base: "running", fires: true, edits: []edit{skewed("kwok-w1", 120)}},
		{name: "the manager's is behind", code: "JM113", base: "running", fires: true, edits: []edit{skewed("kwok-mgr", -45)}},
		{name: "they differ by little", code: "JM113", base: "running", edits: []edit{skewed("kwok-w1", 20)}},
		{name: "ours is wrong", code: "JM113", base: "running", edits: []edit{skewed("kwok-w1", 120), skewed("kwok-mgr", 119), skewed("kwok-w2", 121)}},
		{name: "that of a cluster that has none of its mirrors", code: "JM113", base: "running", edits: []edit{skewed("kwok-w2", 120)}},
	}
}
