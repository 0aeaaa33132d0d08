package rules

func plumbing() []Rule { return nil }

func plumbingUnseen() []Unseen { return nil }
