package rules

// Unseen is a number of the catalogue that cannot be seen from outside of the
// controllers, and why.
type Unseen struct{ Code, Title, Reason string }

// AllUnseen are those numbers, in their order.
func AllUnseen() []Unseen {
	return runningUnseen()
}
