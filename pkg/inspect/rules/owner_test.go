package rules_test

func ownerCases() []testCase { return nil }
