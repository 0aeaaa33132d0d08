package rules

func owners() []Rule { return nil }
