package rules_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// linesOf returns findings, one line for each.
func linesOf(findings []inspect.Finding) string {
	var lines []string
	for _, f := range findings {
		lines = append(lines, fmt.Sprintf("%s %s %s %s/%s: %s; %s", f.Code, f.Severity, f.Context, f.Kind, f.Name, f.Message, f.Remedy))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// withoutOthers removes what depends on Jobs of other namespaces, which a
// trace does not read: the number of other waiting Jobs, and which of several
// Jobs is first.
func withoutOthers(findings []inspect.Finding, namespaces sets.Set[string]) []inspect.Finding {
	if len(namespaces) < 2 {
		return findings
	}
	findings = slices.Clone(findings)
	for i := range findings {
		if f := &findings[i]; f.Code == "JM114" || f.Code == "JM049" {
			f.Name, f.Message, f.Remedy = "", "", ""
		}
	}
	return findings
}

// comparableOf returns findings without what depends on what else was read: see withoutOthers, and the
// fixes for a lack of quota. Both commands take these from a second reading, which has the quotas.
func comparableOf(findings []inspect.Finding, namespaces sets.Set[string]) []inspect.Finding {
	findings = slices.Clone(withoutOthers(findings, namespaces))
	for i := range findings {
		if answer.IsAboutQuota(findings[i].Code) {
			findings[i].Remedy = ""
		}
	}
	return findings
}

// subject returns the target of a trace: an origin, or a mirror without one.
func subject(t *testing.T, v *inspect.Inventory, p inspect.Pair) inspect.Trace {
	t.Helper()
	for _, other := range v.Subjects() {
		if p.Origin == nil && other.Origin == nil && other.Mirrors[0].Job.UID == p.Mirrors[0].Job.UID || p.Origin != nil && other.Origin != nil && other.Origin.UID == p.Origin.UID {
			return *chain.Trace(v, other)
		}
	}
	t.Fatal("trace does not find what check does")
	return inspect.Trace{}
}

// agrees checks that trace and check report the same about each Job. Of many
// Jobs with the same findings, it traces three.
func agrees(t *testing.T, o opened, kinds ...string) {
	t.Helper()
	whole := o.inventory(t, kinds...)
	graces := []time.Duration{0, 5 * time.Minute}
	var checked []rules.Judgment
	for _, grace := range graces {
		checked = append(checked, rules.Judge(whole, rules.All(), rules.Options{Grace: grace}))
	}
	alike := map[string]int{}
	namespaces := sets.New[string]()
	for _, p := range whole.Subjects() {
		namespaces.Insert(p.Jobs()[0].Namespace)
	}
	for _, p := range whole.Subjects() {
		trace := chain.Trace(whole, p)
		kind := ""
		for _, j := range p.Jobs() {
			kind += string(j.Status) + " "
		}
		for _, judgment := range checked {
			kind += linesOf(judgment.About(trace))
		}
		alike[kind]++
		if alike[kind] > 3 {
			continue
		}
		j := p.Jobs()[0]
		wanted := read.Wanted{Name: j.Name, Namespace: j.Namespace}
		if j.Kind != "Job" {
			wanted.Kind = j.Kind
		}
		v := read.Read(t.Context(), o.fleet, read.Want{Named: &wanted, Addresses: o.addresses, Now: o.takenAt})
		mine := subject(t, v, p)
		if rules.DependsOnOthers(v, []inspect.Trace{mine}) {
			v = read.Read(t.Context(), o.fleet, read.Want{Jobs: wanted.Around(), Evidence: true, Known: v, Addresses: o.addresses, Now: o.takenAt})
		}
		for i, grace := range graces {
			judgment := rules.Judge(v, rules.All(), rules.Options{Grace: grace})
			assert.Equal(t, linesOf(comparableOf(judgment.About(&mine), namespaces)), linesOf(comparableOf(checked[i].About(trace), namespaces)), "%s with grace %s", j.Name, grace)
		}
	}
}

// TestTraceAgreesWithCheck checks that trace reports the same as check about
// every Job, although trace reads that Job first.
func TestTraceAgreesWithCheck(t *testing.T) {
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			t.Run(e.Name(), func(t *testing.T) { agrees(t, open(t, filepath.Join(recordings, e.Name()))) })
		}
	}
}
