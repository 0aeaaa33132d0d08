package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Unchecked returns what could not be read and therefore was not checked.
func (j Judgment) Unchecked() []inspect.Unchecked {
	var errs []inspect.ContextError
	for _, n := range j.NotJudged {
		errs = append(errs, n.Error())
	}
	return inspect.UncheckedOf(errs)
}

// PartsRead returns the parts of an inventory that each rule reads, by code.
func PartsRead(all []Rule, v *inspect.Inventory) map[string][]inspect.Part {
	known, parts := newSightingCache(v), map[string][]inspect.Part{}
	for _, r := range all {
		seen := known.view()
		r.Detect(seen)
		for _, s := range seen.Sightings() {
			completeSighting(s)
		}
		parts[r.Code] = seen.PartsRead()
	}
	return parts
}

// NotJudged is a part of a cluster that could not be read.
type NotJudged struct {
	Context string
	// Part is "" if nothing of the context could be read.
	Part inspect.Part
	Err  error
	// Codes are the rules that read the part and found nothing anywhere, or all
	// rules if Part is "". InPart are the rules that read the part and still
	// found something elsewhere.
	Codes, InPart []string
}

// Error returns it as an error of the context, with the codes that were not
// checked.
func (n NotJudged) Error() inspect.ContextError {
	e := inspect.NewPartError(n.Context, n.Part, n.Err)
	if n.Part == "" {
		e.Message += "; nothing there was checked"
	} else {
		e.NotJudged = n.Codes
		e.Message = fmt.Sprintf("cannot read %s, so %s: %s", n.Part, n.unjudged(), e.Message)
	}
	return e
}

// unjudged describes which codes were not checked, and which only in part.
func (n NotJudged) unjudged() string {
	var parts []string
	if len(n.Codes) > 0 {
		parts = append(parts, inspect.WereNotChecked(n.Codes))
	}
	if len(n.InPart) > 0 {
		parts = append(parts, inspect.Span(n.InPart)+" only in part")
	}
	return strings.Join(parts, ", and ")
}

// Concerns reports whether the rule of any of these codes was not checked, or
// only in part.
func (n NotJudged) Concerns(codes []string) bool {
	return slices.ContainsFunc(codes, func(c string) bool { return slices.Contains(n.Codes, c) || slices.Contains(n.InPart, c) })
}

// split moves the codes of rules that found something from Codes to InPart.
func (n *NotJudged) split(found []candidate) {
	if n.Part == "" {
		return
	}
	isFound := sets.New[string]()
	for i := range found {
		isFound.Insert(found[i].Code)
	}
	all := n.Codes
	n.Codes = nil
	for _, c := range all {
		if isFound.Has(c) {
			n.InPart = append(n.InPart, c)
		} else {
			n.Codes = append(n.Codes, c)
		}
	}
}

// notJudged returns the parts that could not be read, with the rules that
// read them.
func notJudged(v *inspect.Inventory, all []Rule) []NotJudged {
	var missing []NotJudged
	for _, f := range v.Clusters {
		if f.Err != nil {
			missing = append(missing, NotJudged{Context: f.Context, Err: f.Err, Codes: codes(all, "")})
			continue
		}
		for _, part := range f.KindParts() {
			missing = append(missing, NotJudged{Context: f.Context, Part: part, Err: f.Gaps[part], Codes: codes(all, inspect.PartJobs)})
		}
		for _, part := range inspect.Parts() {
			read := part
			if part == inspect.PartKinds {
				// Objects of unknown kinds were not looked for.
				read = inspect.PartJobs
			}
			if err := f.Gaps[part]; err != nil && part != inspect.PartJobs {
				missing = append(missing, NotJudged{Context: f.Context, Part: part, Err: err, Codes: codes(all, read)})
			}
		}
	}
	return missing
}

// codes returns the codes of the rules that read a part, or of all rules if
// part is "".
func codes(all []Rule, part inspect.Part) []string {
	var found []string
	for _, r := range all {
		if part == "" || slices.Contains(r.Reads, part) {
			found = append(found, r.Code)
		}
	}
	return found
}
