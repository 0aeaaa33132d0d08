package rules_test

func waitingCases() []testCase {
	return []testCase{
		{name: "on all workers", code: "JM029", base: "no-quota-on-workers", fires: true},
		{name: "admitted", code: "JM029", base: "running"},
		{
			name: "one worker has not answered yet", code: "JM029", base: "no-quota-on-workers",
			edits: []edit{patch("kwok-w2", "Workload/job-train-aa7b6", `{status: {conditions: []}}`)},
		},
	}
}
