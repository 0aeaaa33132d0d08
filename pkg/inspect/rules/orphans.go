package rules

func orphans() []Rule { return nil }

func orphanUnseen() []Unseen { return nil }
