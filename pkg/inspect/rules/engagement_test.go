package rules_test

func engagementCases() []testCase {
	return []testCase{
		{name: "no queue", code: "JM013", base: "no-queue-name", fires: true},
		{name: "a Workload was made", code: "JM013", base: "running"},
		{name: "another owner", code: "JM013", base: "unknown-owner"},
	}
}
