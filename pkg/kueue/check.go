package kueue

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// answeredPattern matches what an AdmissionCheck said before Kueue reset it, in the condition Evicted
// (kueue: workload_controller.go).
var answeredPattern = regexp.MustCompile(`(?s)AdmissionCheck in (\w+) state: "([^"]*)" \((.*)\)$`)

// resetPattern matches the message of a check that Kueue has reset (kueue: pkg/workload/admissionchecks.go).
var resetPattern = regexp.MustCompile(`(?s)^Reset to Pending after eviction\. Previously: (\w+)`)

// multiKueuePattern matches the messages that only MultiKueue writes to its check (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go).
var multiKueuePattern = regexp.MustCompile(`^(?:The owner is not managed by Kueue: |No multikueue adapter found|` +
	`Remote workload on worker cluster "|Workload evicted on worker cluster: "|Admitting remote (?:lost|no longer exists)|` +
	`The workload (?:got reservation|was admitted) on ")`)

// IsOfMultiKueue reports whether an AdmissionCheck of the Workload is surely MultiKueue's: by its message or, once Kueue
// has reset it, by the message before.
func (w *Workload) IsOfMultiKueue(c CheckState) bool {
	return multiKueuePattern.MatchString(c.Message) || multiKueuePattern.MatchString(w.saidBefore(c))
}

// saidBefore returns what a check said before the last eviction of the Workload, "" if that is unknown.
func (w *Workload) saidBefore(c CheckState) string {
	evicted := w.Condition(Evicted)
	if evicted == nil {
		return ""
	}
	if m := answeredPattern.FindStringSubmatch(evicted.Message); len(m) > 3 && m[2] == c.Name {
		return m[3]
	}
	return ""
}

// WhyEvicted returns why Kueue evicted the Workload: what an AdmissionCheck says, or the cause in a few words. The
// Workload must have the condition Evicted.
func (w *Workload) WhyEvicted() string {
	wait := w.evicted()
	for _, c := range wait.Checks {
		if text, _, _ := strings.Cut(c.Message, ", Previously: "); text != "" {
			return text
		}
	}
	return wait.Text()
}

// IsOpen reports whether an AdmissionCheck has not passed and may still pass: it is Pending or Retry.
func (c *CheckState) IsOpen() bool { return c.State != CheckReady && c.State != CheckRejected }

// WasReset reports whether Kueue has reset an AdmissionCheck after an eviction.
func (c *CheckState) WasReset() bool { return resetPattern.MatchString(c.Message) }

// Answer is what an AdmissionCheck last said about a Workload.
type Answer struct {
	// Verb is what the check does, in words that follow its name.
	Verb string
	// Text is its message, "" without one.
	Text string
}

// String returns the words that follow the name of the check.
func (a Answer) String() string { return strings.TrimSuffix(a.Verb+": "+a.Text, ": ") }

// IsNone reports whether the check has not answered.
func (a Answer) IsNone() bool { return a.Text == "" && a.Verb == unanswered }

// IsRejection reports whether the check has rejected the Workload.
func (a Answer) IsRejection() bool { return a.Verb == rejects }

// For returns the same words for text about several Jobs. name is the Job with this answer.
func (a Answer) For(name string) string {
	if a.IsNone() {
		return a.Verb
	}
	return Answer{a.Verb + " for " + name, a.Text}.String()
}

// Answer returns what an AdmissionCheck of the Workload last said. For a check that Kueue has reset after
// an eviction, this is the answer before.
func (w *Workload) Answer(c CheckState) Answer {
	reset := resetPattern.FindStringSubmatch(c.Message)
	switch {
	case c.State != CheckPending, c.Message == "":
		return Answer{cmp.Or(checkVerb(c.State), "is "+c.State), c.Message}
	case reset == nil:
		return Answer{"is pending", c.Message}
	case reset[1] == CheckPending:
		return Answer{Verb: unanswered}
	}
	last := "its last answer was " + reset[1]
	if evicted := w.Condition(Evicted); evicted != nil {
		if m := answeredPattern.FindStringSubmatch(evicted.Message); len(m) > 3 && m[1] == reset[1] && m[2] == c.Name && m[3] != "" {
			last += fmt.Sprintf(" (%s)", m[3])
		}
	}
	return Answer{"is pending again", last}
}

// What an AdmissionCheck does, in words that follow its name.
const (
	unanswered = "has not answered"
	retries    = "requests a later attempt"
	rejects    = "rejects it"
)

// checkVerb returns what a state of an AdmissionCheck means, in words that follow its name; "" if it is unknown.
func checkVerb(state string) string {
	switch state {
	case CheckPending:
		return unanswered
	case CheckRetry:
		return retries
	case CheckRejected:
		return rejects
	case CheckReady:
		return "is ready"
	default:
		return ""
	}
}

// checkText describes the AdmissionCheck that a wait is for. verb is the text of the reason.
func (w *Wait) checkText(verb string) string {
	text := "an AdmissionCheck " + verb
	switch {
	case w.answer != "":
		return fmt.Sprintf("AdmissionCheck %s %s", w.Checks[0].Name, w.answer)
	case len(w.Checks) > 0:
		text = fmt.Sprintf("AdmissionCheck %s %s", w.Checks[0].Name, verb)
	}
	if rejection := w.rejection(); rejection != "" {
		text += ": " + rejection
	}
	return text
}

// rejection returns why an AdmissionCheck rejects the Workload, "" if it does
// not, or if the reason is unknown.
func (w *Wait) rejection() string {
	if w.Reason != ReasonCheckRejected {
		return ""
	}
	if m := answeredPattern.FindStringSubmatch(w.Message); len(m) > 3 && m[1] == CheckRejected {
		return m[3]
	}
	if len(w.Checks) > 0 && w.Checks[0].State == CheckRejected {
		return w.Checks[0].Message
	}
	return ""
}
