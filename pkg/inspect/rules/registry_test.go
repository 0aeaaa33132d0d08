package rules_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/prose"
)

// TestRegistry checks what must hold for every rule.
func TestRegistry(t *testing.T) {
	fires, silent, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range cases() {
		assert.Assert(t, !names[c.code+" "+c.name], "two cases are called %s %s", c.code, c.name)
		names[c.code+" "+c.name] = true
		if c.fires {
			fires[c.code] = true
		} else {
			silent[c.code] = true
		}
	}
	seen, holds := map[string]bool{}, map[string]bool{}
	last := ""
	for _, r := range rules.Catalogue() {
		assert.Assert(t, !seen[r.Code], "%s is listed twice", r.Code)
		assert.Assert(t, r.Code > last, "%s comes after %s", r.Code, last)
		seen[r.Code], last = true, r.Code
		assert.Assert(t, regexp.MustCompile(`^JM\d{3}$`).MatchString(r.Code), r.Code)
		for _, text := range []string{r.Title, r.Holds, r.Why, r.Shows, r.Remedy, r.Link, string(r.Severity)} {
			assert.Assert(t, text != "", "a text of %s is empty", r.Code)
		}
		assert.Assert(t, !holds[r.Holds], "%s: %q is another rule's", r.Code, r.Holds)
		holds[r.Holds] = true
		assert.Assert(t, len(r.Reads) > 0 && r.Detect != nil, r.Code)
		assert.Assert(t, fires[r.Code], "%s has no case in which it fires", r.Code)
		assert.Assert(t, silent[r.Code], "%s has no case in which it stays silent", r.Code)
		for _, code := range r.Covers {
			_, ok := rules.ByCode(code)
			assert.Assert(t, ok, "%s covers %s, which is no rule", r.Code, code)
		}
	}
}

// TestTextsAreShort holds the texts of codes to what a person under pressure reads: at most
// 120 words, sentences without semicolons, and a title that fits into a line.
func TestTextsAreShort(t *testing.T) {
	for _, r := range rules.Catalogue() {
		words := len(strings.Fields(strings.Join([]string{r.Holds, r.Why, r.Shows, r.Remedy}, " ")))
		assert.Check(t, words <= 120, "%s has %d words", r.Code, words)
		assert.Check(t, len(r.Title) < 60, "%s: the title has %d characters", r.Code, len(r.Title))
		for name, text := range map[string]string{"Why": r.Why, "Shows": r.Shows, "Fix": r.Remedy} {
			assert.Check(t, !strings.Contains(text, ";"), "%s: %s has a semicolon", r.Code, name)
			for _, sentence := range sentences.Split(text, -1) {
				assert.Check(t, len(strings.Fields(sentence)) <= 30, "%s: %s has a long sentence: %s", r.Code, name, sentence)
			}
		}
	}
}

var sentences = regexp.MustCompile(`[.:]\s`)

// TestTextsBelongToRules checks that no text belongs to a removed code.
func TestTextsBelongToRules(t *testing.T) {
	codes, err := prose.Codes()
	assert.NilError(t, err)
	for _, code := range codes {
		_, ok := rules.ByCode(code)
		assert.Check(t, ok, "%s has a text and no rule", code)
	}
}

// TestCatalogueIsComplete checks that each of the 63 numbers is a rule, or is
// listed as undetectable.
func TestCatalogueIsComplete(t *testing.T) {
	unseen := map[string]bool{}
	for _, u := range rules.UndetectableCodes() {
		assert.Assert(t, u.Title != "" && u.Reason != "", u.Code)
		unseen[u.Code] = true
	}
	for n := 1; n <= 63; n++ {
		code := fmt.Sprintf("JM%03d", n)
		_, seen := rules.ByCode(code)
		assert.Assert(t, seen != unseen[code], code)
	}
}

// TestDeclaredReads checks that each rule reads exactly the parts that it
// declares, over all recordings and cases.
func TestDeclaredReads(t *testing.T) {
	var all []*inspect.Inventory
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, inventory(t, recordings+"/"+e.Name()))
		}
	}
	for _, c := range cases() {
		all = append(all, c.inventory(t))
	}
	read := map[string]map[inspect.Part]bool{}
	for _, v := range all {
		for code, parts := range rules.PartsRead(rules.Catalogue(), v) {
			for _, p := range parts {
				if read[code] == nil {
					read[code] = map[inspect.Part]bool{}
				}
				read[code][p] = true
			}
		}
	}
	for _, r := range rules.Catalogue() {
		said := map[inspect.Part]bool{}
		for _, p := range r.Reads {
			said[p] = true
		}
		assert.Check(t, cmp.DeepEqual(read[r.Code], said), r.Code)
	}
}

// TestRecordings checks that each recording of a real MultiKueue gives
// exactly the codes of the faults in it.
func TestRecordings(t *testing.T) {
	want := map[string][]string{
		"running":                            {},
		"starting":                           {},
		"no-queue-name":                      {"JM013"},
		"wrong-queue":                        {"JM019"},
		"no-quota-on-workers":                {"JM029"},
		"localqueue-missing-on-workers":      {"JM026"},
		"same-name-on-workers":               {"JM034"},
		"unknown-owner":                      {"JM014"},
		"worker-lost":                        {"JM004"},
		"cluster-removed-from-config":        {"JM055"},
		"managed-by-missing":                 {"JM012"},
		"kueue-down-on-workers":              {"JM031"},
		"mirror-refused-by-quota":            {"JM035"},
		"mirror-mutated-on-worker":           {"JM036"},
		"service-account-missing-on-workers": {"JM049"},
		"one-worker-unusable":                {"JM002"},
		"origin-deleted-controller-down":     {"JM053"},
		"burst-1":                            {"JM114"},
		"strict-fifo-head-blocks":            {"JM029", "JM115"},
		"burst-3":                            {"JM114"},

		"same-cluster-under-two-names":        {"JM126"},
		"created-again-with-kueues-leftovers": {"JM123"},
		"worker-job-controller-down":          {"JM121"},
		"admission-check-nobody-serves":       {"JM008"},
		"origin-edited-while-running":         {"JM125"},
		"localqueue-drained-and-a-late-job":   {"JM012", "JM019"},
		"second-check-of-somebody-elses":      {"JM020"},
		"preempted-on-worker":                 {"JM029"},
		"deactivated":                         {"JM124"},
		"pods-unschedulable":                  {"JM049"},
		"two-flavors":                         {"JM029", "JM049"},
		"cohort-borrowing":                    {"JM029"},

		"manager-cannot-record-the-worker":    {"JM009", "JM019", "JM020", "JM022", "JM027", "JM029", "JM030"},
		"workers-only-user":                   {"JM049"},
		"mirror-without-multikueue-label":     {"JM038", "JM046", "JM048", "JM124", "JM136"},
		"priority-class-unread":               {},
		"many-edits-one-timed-out":            {"JM036", "JM038", "JM048", "JM111", "JM124", "JM125", "JM129", "JM136"},
		"many-quota-faults":                   {"JM009", "JM019", "JM020", "JM027", "JM028", "JM029", "JM030", "JM124"},
		"dispatch-origin-in-multikueue-queue": {"JM012", "JM029", "JM049", "JM114", "JM115", "JM201"},
		"jobsets":                             {"JM009", "JM019", "JM020", "JM022", "JM027", "JM029", "JM030"},
	}
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			codes, known := want[e.Name()]
			assert.Assert(t, known, "the recording has no expected findings in this test")
			findings := judge(t, inventory(t, recordings+"/"+e.Name()), rules.All(), 0)
			got := codesOf(findings)
			if len(codes) == 0 && len(got) == 0 {
				return
			}
			assert.DeepEqual(t, got, codes)
		})
	}
}
