package rules

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Unchecked returns what could not be read and therefore was not checked, one entry for each
// reason: a restricted user may not read much, and one line says so.
func (j Judgment) Unchecked() []inspect.Unchecked {
	found := []inspect.Unchecked{}
	add := func(what, context, reason string) {
		i := slices.IndexFunc(found, func(u inspect.Unchecked) bool { return u.What == what && u.Reason == reason })
		if i < 0 {
			i = len(found)
			found = append(found, inspect.Unchecked{What: what, Reason: reason})
		}
		if !slices.Contains(found[i].Contexts, context) {
			found[i].Contexts = append(found[i].Contexts, context)
		}
	}
	refused := map[string][]string{}
	var contexts []string
	for _, n := range j.NotJudged {
		e := n.Error()
		switch {
		case n.Part == "":
			add(inspect.Everything, n.Context, unreadBecause(n))
		case e.Refusal != nil:
			if refused[n.Context] == nil {
				contexts = append(contexts, n.Context)
			}
			if !slices.Contains(refused[n.Context], e.Refusal.Resource) {
				refused[n.Context] = append(refused[n.Context], e.Refusal.Resource)
			}
		default:
			add(string(n.Part), n.Context, unreadBecause(n))
		}
	}
	for _, context := range contexts {
		add(strings.Join(refused[context], ", "), context, "you may not read them")
	}
	return found
}

// unreadBecause is why something could not be read.
func unreadBecause(n NotJudged) string {
	return kubecontext.InContext(n.Context, "", n.Err).Message()
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
