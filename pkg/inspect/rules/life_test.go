package rules_test

func lifeCases() []testCase { return nil }
