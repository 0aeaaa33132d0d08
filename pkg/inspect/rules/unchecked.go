package rules

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Unchecked returns what could not be read and therefore was not checked.
func (j Judgment) Unchecked() []inspect.Unchecked {
	var errs []inspect.ContextError
	for _, n := range j.NotJudged {
		errs = append(errs, n.Error())
	}
	return inspect.Unread(errs)
}

// PartsRead are the parts that each rule reads of an inventory, by their codes.
func PartsRead(all []Rule, v *inspect.Inventory) map[string][]inspect.Part {
	known, parts := &shared{awaiting: map[string][]Sighting{}}, map[string][]inspect.Part{}
	for _, r := range all {
		view := newView(v, known)
		r.Detect(view)
		for _, s := range view.sightings {
			s.told()
		}
		parts[r.Code] = view.read.UnsortedList()
	}
	return parts
}
