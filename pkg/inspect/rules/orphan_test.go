package rules_test

func orphanCases() []testCase { return nil }
