package rules

func lives() []Rule { return nil }
