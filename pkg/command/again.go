package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Again adds to a fix that changes a manifest how a submitted object gets the change. It names the object, like
// "Job ml/train", because the answer about another Job may quote the fix. It has no command for that: a user who
// only copies commands would delete the object, and lose its place in the queue. template is the field that the object
// is created from, like "spec.jobTemplate of CronJob ml/train", "" if the user creates it.
func (f Fix) Again(object, template string) Fix {
	r := renewal{objects: object, pronoun: "it", isOfTemplates: template != ""}
	if template != "" {
		r.templates = []string{template}
	}
	if len(f.Command) == 0 && len(f.Then) == 0 {
		f.Text += r.clause()
		return f
	}
	return f.FollowedBy(Fix{Text: r.step(), Command: []string{}})
}

// AgainForAll returns a fix that Again has completed for one object as the fix for several, such as "the 4 Jobs".
// templates has the field that each of them is created from, as for Again; none means that the user creates all.
func (f Fix) AgainForAll(objects string, templates ...string) Fix {
	isOfTemplates := len(templates) > 0 && !slices.Contains(templates, "")
	templates = slices.DeleteFunc(slices.Clone(templates), func(template string) bool { return template == "" })
	slices.Sort(templates)
	r := renewal{objects: objects, pronoun: "them", templates: slices.Compact(templates), isOfTemplates: isOfTemplates}
	f.Then = slices.Clone(f.Then)
	for i := range f.Then {
		if againStep.MatchString(f.Then[i].Text) {
			f.Then[i].Text = r.step()
		}
	}
	f.Text = againClause.ReplaceAllLiteralString(f.Text, r.clause())
	return f
}

// IsAgain reports whether Again has completed the fix.
func (f Fix) IsAgain() bool {
	return againClause.MatchString(f.Text) || slices.ContainsFunc(f.Then, func(s Step) bool { return againStep.MatchString(s.Text) })
}

// againClause and againStep match what Again adds for one object: at the end of a text, and as a step.
var (
	againClause = regexp.MustCompile(`(?:, then delete \S+ \S+, and create it again| in \S+ of \S+ \S+, then delete \S+ \S+)$`)
	againStep   = regexp.MustCompile(`^(?:delete \S+ \S+, and create it again|make the change in \S+ of \S+ \S+, and delete \S+ \S+)$`)
)

// renewal is how submitted objects get a change of their manifests.
type renewal struct {
	// objects names them, and pronoun stands for them.
	objects, pronoun string
	// templates are the fields that they are created from, each once. isOfTemplates is whether that is true of all.
	templates     []string
	isOfTemplates bool
}

// clause returns what follows the change in a text.
func (r *renewal) clause() string {
	if r.isOfTemplates {
		return " in " + r.inTemplates() + ", then delete " + r.objects
	}
	return ", then " + r.step()
}

// step returns what follows the change as a step of its own.
func (r *renewal) step() string {
	switch {
	case r.isOfTemplates:
		return "make the change in " + r.inTemplates() + ", and delete " + r.objects
	case len(r.templates) > 0:
		return "make the same change in " + r.inTemplates() + ", delete " + r.objects + ", and create the others again"
	}
	return "delete " + r.objects + ", and create " + r.pronoun + " again"
}

// inTemplates names the templates.
func (r *renewal) inTemplates() string {
	if others := len(r.templates) - 1; others > 1 {
		return fmt.Sprintf("%s and %d others", r.templates[0], others)
	}
	return strings.Join(r.templates, " and ")
}

// CreateAgain returns how a new object replaces one. deletion deletes the old one, and kind is the kind of both, "" if
// deletion names the object. change is how the new one differs, such as "with a label", "" if in nothing. template is
// the field that the object is created from, as for Again: it must change first, because the next object may be created
// at any time.
func CreateAgain(deletion Fix, kind, template, change string) Fix {
	object := "it"
	if kind != "" {
		object = "the " + kind
	}
	first, last := deletion, Fix{Text: strings.TrimSpace("create " + object + " again " + change), Command: []string{}}
	switch {
	case template != "" && change == "":
		last.Text = "have the next one created from " + template
	case template != "":
		first, last = Fix{Text: "change " + template + " to one " + change, Command: []string{}}, deletion
	}
	if len(deletion.Command) == 0 {
		return Fix{Text: first.Text + ", and " + last.Text, Command: []string{}}
	}
	return first.FollowedBy(last)
}
