package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// addLease adds the Lease of the Job called other, with the time of its last
// write.
func addLease(uid, holder, written string) edit {
	return add("kwok-mgr", fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease,
		metadata: {name: jobs-managedby-other, namespace: default, uid: lease-of-other, labels: {jobmanagedby.github.io/origin-uid: %s},
			managedFields: [{manager: kubectl-jobs_managedby, operation: Update, apiVersion: coordination.k8s.io/v1, time: "2026-11-20T23:%sZ"}]},
		spec: {holderIdentity: "%s", leaseDurationSeconds: 15, acquireTime: "2026-11-20T23:43:31.000000Z", renewTime: "2026-11-20T23:43:40.000000Z"}}`,
		uid, written, holder))
}

// noLeases is a cluster that serves Leases, but has none that matters.
func noLeases() edit {
	return add("kwok-mgr", `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kwok-node, namespace: kube-node-lease}, spec: {}}`)
}

var (
	held     = addLease(otherUID, "alice", "43:40")
	expired  = addLease(otherUID, "alice", "42:00")
	released = addLease(otherUID, "", "43:40")
)

func dispatchingCases() []testCase {
	var all []testCase
	for _, cases := range [][]testCase{unattendedCases(), finalStatusCases(), takenBackCases(), keptCases(), badMarkCases()} {
		for _, c := range cases {
			c.base = "running"
			all = append(all, c)
		}
	}
	return all
}

func unattendedCases() []testCase {
	copied := addCopy("kwok-w1", "mirror-of-other", "", started)
	never := addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", "")
	foreign := addOwned(runner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, started)
	return []testCase{
		{name: "its holder is gone", code: "JM201", fires: true, edits: []edit{addDispatched(started), copied, expired}},
		{name: "its holder released it", code: "JM201", fires: true, edits: []edit{addDispatched(started), copied, released}},
		{name: "there is no Lease any more", code: "JM201", fires: true, edits: []edit{addDispatched(started), copied, noLeases()}},
		{name: "the Lease of an older Job of the same name", code: "JM201", fires: true, edits: []edit{
			addDispatched(started), copied, addLease(newerUID, "alice", "43:40"),
		}},
		{name: "only its mirror shows it", code: "JM201", fires: true, edits: []edit{never, copied, released}},
		{name: "only its annotation shows it", code: "JM201", fires: true, edits: []edit{addDispatched(started), released, unreachable("kwok-w1")}},
		{name: "no status was copied so far", code: "JM201", fires: true, edits: []edit{addDispatched(""), copied, expired}},
		{name: "suspended on both sides", code: "JM201", fires: true, edits: []edit{
			addDispatched(""), copied, released,
			patch("kwok-mgr", "Job/other", `{spec: {suspend: true}}`), patch("kwok-w1", "Job/other", `{spec: {suspend: true}}`),
		}},
		{name: "of another owner, and dispatched", code: "JM201", fires: true, edits: []edit{foreign, copied, expired}},

		{name: "its mirror has lost its mark", code: "JM201", fires: true, edits: []edit{
			addDispatched(started), released, addOther("kwok-w1", "default", ""), patch("kwok-w1", "Job/other", `{metadata: {uid: mirror-of-other}}`),
		}},
		{name: "a copy of a dispatched Job, with its annotation", code: "JM201", edits: []edit{
			addDispatched(started), released, addOther("kwok-w1", "default", ""),
			patch("kwok-w1", "Job/other", `{metadata: {uid: mirror-of-other, labels: {jobmanagedby.github.io/origin-uid: the-first}}}`),
		}},
		{name: "its mirror is in another namespace", code: "JM201", fires: true, edits: []edit{dispatchedTo("batch"), copiedTo("batch", started), released}},
		{name: "another Job stands in the place of its mirror", code: "JM201", edits: []edit{
			addDispatched(started), released, addOther("kwok-w1", "default", ""),
		}},
		{name: "the same, in another namespace", code: "JM201", edits: []edit{dispatchedTo("batch"), addOther("kwok-w1", "batch", ""), released}},
		{name: "held", code: "JM201", edits: []edit{addDispatched(started), copied, held}},
		{name: "finished", code: "JM201", edits: []edit{addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "", ended), noLeases()}},
		{name: "being deleted", code: "JM201", edits: []edit{
			addDispatched(started), copied, released,
			patch("kwok-mgr", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [example.com/hold]}}`),
		}},
		{name: "never dispatched", code: "JM201", edits: []edit{never, noLeases()}},
		{name: "the mirror of an older Job of the same name", code: "JM201", edits: []edit{
			addOwned("jobmanagedby.github.io/dispatch", "other", newerUID, "", ""), copied, noLeases(),
		}},
		{name: "of another owner, which marks its mirrors as we do", code: "JM201", edits: []edit{foreign, copied, noLeases()}},
		{name: "Leases were not recorded", code: "JM201", edits: []edit{addDispatched(started), copied}},
		{name: "its cluster does not answer", code: "JM201", edits: []edit{addDispatched(started), copied, expired, unreachable("kwok-mgr")}},
		{name: "held, by a clock that is off", code: "JM201", edits: []edit{
			addDispatched(started), copied, addLease(otherUID, "alice", "13:40"), skewed("kwok-mgr", -1800),
		}},
	}
}

func finalStatusCases() []testCase {
	copied := addCopy("kwok-w1", "mirror-of-other", "", ended)
	over := func(second string) edit {
		return addCopy("kwok-w1", "mirror-of-other", "", strings.ReplaceAll(ended, ":35Z", ":"+second+"Z"))
	}
	return []testCase{
		{name: "its holder is gone", code: "JM202", fires: true, edits: []edit{addDispatched(started), copied, expired}},
		{name: "its holder released it", code: "JM202", fires: true, edits: []edit{addDispatched(started), copied, released}},
		{name: "there is no Lease any more", code: "JM202", fires: true, edits: []edit{addDispatched(""), copied, noLeases()}},
		{name: "failed", code: "JM202", fires: true, edits: []edit{
			addDispatched(started), released, addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 86400",
				`failed: 1, startTime: "2026-11-20T23:43:31Z", conditions: [{type: Failed, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]`),
		}},

		{name: "held", code: "JM202", edits: []edit{addDispatched(started), copied, held}},
		{name: "finished just now", code: "JM202", edits: []edit{addDispatched(started), over("43"), expired}},
		{name: "not finished", code: "JM202", edits: []edit{addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "", started), expired}},
		{name: "both have finished", code: "JM202", edits: []edit{addDispatched(ended), copied, noLeases()}},
		{name: "another mirror runs", code: "JM202", edits: []edit{
			addDispatched(started), copied, addCopy("kwok-w2", "second-of-other", "", started), expired,
		}},
		{name: "the mirror is being deleted", code: "JM202", edits: []edit{
			addDispatched(started), copied, expired,
			patch("kwok-w1", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [foregroundDeletion]}}`),
		}},
		{name: "the worker does not answer", code: "JM202", edits: []edit{addDispatched(started), copied, expired, unreachable("kwok-w1")}},
		{name: "Leases were not recorded", code: "JM202", edits: []edit{addDispatched(started), copied}},
	}
}

// TestOneFindingForOneCause checks that of several findings about an
// unattended Job only the most specific one is left.
func TestOneFindingForOneCause(t *testing.T) {
	running, over := addCopy("kwok-w1", "mirror-of-other", "", started), addCopy("kwok-w1", "mirror-of-other", "", ended)
	never := addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", "")
	back := addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", stopped)
	foreign := addOwned(runner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, started)
	passing := addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 86400", ended)
	for name, tt := range map[string]struct {
		edits []edit
		want  []string
	}{
		"never dispatched":                  {[]edit{never, noLeases()}, []string{"JM101"}},
		"the status is behind, and held":    {[]edit{addDispatched(""), running, held}, []string{"JM104"}},
		"the status is behind":              {[]edit{addDispatched(""), running, expired}, []string{"JM201"}},
		"behind, and Leases not recorded":   {[]edit{addDispatched(""), running}, []string{"JM104"}},
		"the mirror is gone":                {[]edit{addDispatched(started), expired}, []string{"JM105"}},
		"the end is not copied":             {[]edit{addDispatched(started), over, expired}, []string{"JM202"}},
		"not copied, Lease held":            {[]edit{addDispatched(started), over, held}, []string{"JM110"}},
		"not copied, Leases not recorded":   {[]edit{addDispatched(started), over}, []string{"JM110"}},
		"all is well":                       {[]edit{addDispatched(started), running, held}, []string{}},
		"finished, and the mirror stays":    {[]edit{addDispatched(ended), over, released}, []string{"JM204"}},
		"finished, and the mirror goes":     {[]edit{addDispatched(ended), passing, released}, []string{}},
		"withdrawn":                         {[]edit{back, noLeases()}, []string{"JM203"}},
		"another Job in the mirror's place": {[]edit{addDispatched(started), addOther("kwok-w1", "default", ""), released}, []string{"JM105"}},
		"the same, of another owner":        {[]edit{foreign, addOther("kwok-w1", "default", ""), released}, []string{"JM105"}},
		"another, before anything started":  {[]edit{addDispatched(""), addOther("kwok-w1", "default", ""), released}, []string{"JM105"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{name: name, code: "all", base: "running", edits: tt.edits}.inventory(t)
			got := codesOf(judge(t, v, rules.All(), 0))
			assert.Equal(t, strings.Join(got, " "), strings.Join(tt.want, " "))
		})
	}
}

// TestUnattendedForLong checks that a Job that is unattended for less than
// the grace period counts as in progress, according to its Lease or, without
// one, to its last update.
func TestUnattendedForLong(t *testing.T) {
	running := addCopy("kwok-w1", "mirror-of-other", "", started)
	for name, tt := range map[string]struct {
		lease edit
		grace time.Duration
		fires bool
	}{
		"expired for 88 seconds":        {expired, 80 * time.Second, true},
		"expired for no more than that": {expired, 95 * time.Second, false},
		"released 3 seconds ago":        {released, 10 * time.Second, false},
		"released, with little grace":   {released, time.Second, true},
		"no Lease, and a young mirror":  {noLeases(), 30 * time.Second, false},
		"no Lease, and an old one":      {noLeases(), 5 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{name: name, code: "JM201", base: "running", edits: []edit{addDispatched(started), running, tt.lease}}.inventory(t)
			rule, _ := rules.ByCode("JM201")
			assert.Equal(t, len(judge(t, v, []rules.Rule{rule}, tt.grace)) > 0, tt.fires, "now is %s", v.Now)
		})
	}
}

// TestRemediesOfDispatch checks the commands that a user copies.
func TestRemediesOfDispatch(t *testing.T) {
	find := func(code string, edits ...edit) inspect.Finding {
		v := testCase{name: code + fmt.Sprint(len(edits)), code: "remedy", base: "running", edits: edits}.make(t)
		findings := judge(t, v, rules.All(), 0)
		assert.Equal(t, strings.Join(codesOf(findings), " "), code)
		return findings[0]
	}
	const again = "kubectl jobs-managedby dispatch other -n default --context kwok-mgr --to "
	end := quoted("kubectl jobs-managedby cancel other -n default --context kwok-mgr")
	f := find("JM201", addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "", started), expired)
	assert.Equal(t, f.Remedy, "resume with the same mirror: "+quoted(again+"kwok-w1")+"; or end the Job: "+end)
	assert.Equal(t, f.Message, "Job default/other: no dispatcher holds its Lease: the status of its mirror on kwok-w1 is not copied")
	assert.Equal(t, f.Evidence[0], "kwok-mgr: spec.holderIdentity of Lease default/jobs-managedby-other is alice, which last renewed it at 2026-11-20T23:42:00Z; the Lease is valid for 15s")
	assert.Equal(t, f.Severity, inspect.Warning)

	f = find("JM202", addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 86400", ended), released)
	assert.Equal(t, f.Remedy, "copy the final status: "+quoted(again+"kwok-w1")+"; or end the Job: "+end+"; keep the mirror until then")
	assert.Equal(t, f.Message, "Job default/other: its mirror on kwok-w1 is Complete, but the origin still says Running. No dispatcher holds its Lease")
	assert.Equal(t, f.Evidence[0], "kwok-mgr: spec.holderIdentity of Lease default/jobs-managedby-other is empty since 2026-11-20T23:43:40Z")
	assert.Equal(t, f.Evidence[3], "kwok-w1: spec.ttlSecondsAfterFinished of Job default/other is 86400")
	assert.Equal(t, f.Severity, inspect.Error)

	f = find("JM101", addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", ""), noLeases())
	assert.Equal(t, f.Remedy, "dispatch it: "+quoted(again+"CONTEXT")+"; or give it to the built-in controller: "+quoted("kubectl jobs-managedby recreate other -n default --context kwok-mgr --managed-by ''"))
	f = find("JM105", addDispatched(started), expired)
	assert.Equal(t, f.Remedy, "start the Job from scratch: "+quoted(again+"kwok-w1 --new-mirror")+"; or end the Job: "+end)
}

// TestAboutDispatched checks that a trace includes findings about unattended
// Jobs.
func TestAboutDispatched(t *testing.T) {
	c := testCase{name: "about", code: "about", base: "running", edits: []edit{
		addDispatched(started), addCopy("kwok-w1", "mirror-of-other", "", started), expired,
	}}
	v := c.inventory(t)
	judgment := rules.Judge(v, rules.All(), rules.Options{})
	codes := map[string]bool{}
	for _, p := range v.Pairs.Pairs {
		for _, f := range judgment.About(chain.Trace(v, p)) {
			codes[p.Origin.Name+" "+f.Code] = true
		}
	}
	assert.DeepEqual(t, codes, map[string]bool{"other JM201": true})
}
