package rules_test

func runningCases() []testCase { return nil }
