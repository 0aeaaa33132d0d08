package rules

func running() []Rule { return nil }

func runningUnseen() []Unseen { return nil }
