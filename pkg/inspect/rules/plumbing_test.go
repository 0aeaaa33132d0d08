package rules_test

func plumbingCases() []testCase { return nil }
