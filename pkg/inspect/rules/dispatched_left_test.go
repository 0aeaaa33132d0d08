package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// stopped is the status that dispatch leaves when it takes a mirror back.
const stopped = `active: 0, ready: 0, terminating: 0, startTime: "2026-11-20T23:43:31Z"`

// dispatchedTo adds a Job that was dispatched to a namespace of the first worker.
func dispatchedTo(namespace string) edit {
	return addOwned("jobmanagedby.github.io/dispatch", "other", otherUID,
		`annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/`+namespace+`/other/mirror-of-other}`, started)
}

// copiedTo adds the mirror of that Job there.
func copiedTo(namespace, status string) edit {
	e := addCopy("kwok-w1", "mirror-of-other", "", status)
	e.patch = strings.Replace(e.patch, "namespace: default", "namespace: "+namespace, 1)
	return e
}

// addOther adds a Job of another owner called other, with more of its
// metadata.
func addOther(context, namespace, metadata string) edit {
	return add(context, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job,
		metadata: {name: other, namespace: %s, uid: not-the-mirror, creationTimestamp: "2026-11-20T23:43:38Z", %s},
		spec: {completions: 1, parallelism: 1, suspend: false}, status: {%s}}`, namespace, metadata, started))
}

func takenBackCases() []testCase {
	dispatched := func(uid, metadata, status string) edit {
		return addOwned("jobmanagedby.github.io/dispatch", "other", uid, metadata, status)
	}
	back := dispatched(otherUID, "", stopped)
	return []testCase{
		{name: "its Lease was given back", code: "JM203", fires: true, edits: []edit{back, noLeases()}},
		{name: "its Lease has run out", code: "JM203", fires: true, edits: []edit{back, expired}},
		{name: "its Lease was released", code: "JM203", fires: true, edits: []edit{back, released}},
		{name: "pods of it have ended before", code: "JM203", fires: true, edits: []edit{
			dispatched(otherUID, "", strings.Replace(stopped, "active: 0", "active: 0, failed: 1", 1)), noLeases(),
		}},
		{name: "the mirror of an older Job of the same name is there", code: "JM203", fires: true, edits: []edit{
			dispatched(newerUID, "", stopped), addCopy("kwok-w1", "mirror-of-other", "", started), noLeases(),
		}},
		{name: "a foreign Job has its name", code: "JM203", fires: true, edits: []edit{back, addOther("kwok-w1", "default", ""), noLeases()}},

		{name: "a dispatch begins", code: "JM203", edits: []edit{back, held}},
		{name: "never dispatched", code: "JM203", edits: []edit{dispatched(otherUID, "", ""), noLeases()}},
		{name: "suspended", code: "JM203", edits: []edit{back, noLeases(), patch("kwok-mgr", "Job/other", `{spec: {suspend: true}}`)}},
		{name: "it has ended", code: "JM203", edits: []edit{dispatched(otherUID, "", ended), noLeases()}},
		{name: "being deleted", code: "JM203", edits: []edit{
			back, noLeases(),
			patch("kwok-mgr", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [example.com/hold]}}`),
		}},
		{name: "it names a mirror", code: "JM203", edits: []edit{addDispatched(stopped), noLeases()}},
		{name: "a mirror names it", code: "JM203", edits: []edit{back, addCopy("kwok-w2", "mirror-of-other", "", started), noLeases()}},
		{name: "of another owner", code: "JM203", edits: []edit{addOwned(runner, "other", otherUID, "", stopped), noLeases()}},
		{name: "of another owner, with a Lease", code: "JM203", edits: []edit{addOwned(runner, "other", otherUID, "", stopped), expired}},
		{name: "a mirror may be on an unreachable cluster", code: "JM203", edits: []edit{back, noLeases(), unreachable("kwok-w2")}},
		{name: "Leases were not recorded", code: "JM203", edits: []edit{back}},
	}
}

func keptCases() []testCase {
	over, runs := addCopy("kwok-w1", "mirror-of-other", "", ended), addCopy("kwok-w1", "mirror-of-other", "", started)
	failed := `failed: 1, startTime: "2026-11-20T23:43:31Z", conditions: [{type: Failed, status: "True", lastTransitionTime: "2026-11-20T23:43:35Z"}]`
	foreign := addOwned(runner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, ended)
	return []testCase{
		{name: "its holder is gone", code: "JM204", fires: true, edits: []edit{addDispatched(ended), over, expired}},
		{name: "there is no Lease any more", code: "JM204", fires: true, edits: []edit{addDispatched(ended), over, noLeases()}},
		{name: "cancel has left its mirror", code: "JM204", fires: true, edits: []edit{
			addDispatched(failed), over, released, patch("kwok-mgr", "Job/other", `{metadata: {annotations: {jobmanagedby.github.io/cancelled: `+otherUID+`/abandon-mirror}}}`),
		}},
		{name: "failed", code: "JM204", fires: true, edits: []edit{addDispatched(failed), addCopy("kwok-w1", "mirror-of-other", "", failed), released}},
		{name: "only its mirror shows it", code: "JM204", fires: true, edits: []edit{
			addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", ended), over, expired,
		}},
		{name: "its mirror has lost its mark", code: "JM204", fires: true, edits: []edit{
			addDispatched(ended), expired, addOther("kwok-w1", "default", ""),
			patch("kwok-w1", "Job/other", `{metadata: {uid: mirror-of-other}, status: {`+ended+`}}`),
		}},
		{name: "of another owner, and dispatched", code: "JM204", fires: true, edits: []edit{foreign, over, expired}},

		{name: "its mirror was abandoned", code: "JM206", fires: true, edits: []edit{addDispatched(failed), runs, noLeases()}},
		{name: "a dispatch may be about to end it", code: "JM206", edits: []edit{addDispatched(failed), runs, held}},
		{name: "the mirror is being deleted", code: "JM206", edits: []edit{
			addDispatched(failed), runs, noLeases(),
			patch("kwok-w1", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [foregroundDeletion]}}`),
		}},
		{name: "both have ended", code: "JM206", edits: []edit{addDispatched(ended), over, noLeases()}},
		{name: "both run", code: "JM206", edits: []edit{addDispatched(started), runs, noLeases()}},

		{name: "held", code: "JM204", edits: []edit{addDispatched(ended), over, held}},
		{name: "it has a TTL", code: "JM204", edits: []edit{addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "ttlSecondsAfterFinished: 86400", ended), expired}},
		{name: "the mirror runs", code: "JM204", edits: []edit{addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "", started), expired}},
		{name: "the origin's status is not updated", code: "JM204", edits: []edit{addDispatched(started), over, expired}},
		{name: "the mirror is being deleted", code: "JM204", edits: []edit{
			addDispatched(ended), over, expired,
			patch("kwok-w1", "Job/other", `{metadata: {deletionTimestamp: "2026-11-20T23:43:40Z", finalizers: [foregroundDeletion]}}`),
		}},
		{name: "the mirror is gone", code: "JM204", edits: []edit{addDispatched(ended), expired}},
		{name: "a foreign Job in its place", code: "JM204", edits: []edit{
			addDispatched(ended), expired, addOther("kwok-w1", "default", ""), patch("kwok-w1", "Job/other", `{status: {`+ended+`}}`),
		}},
		{name: "of another owner, which marks its mirrors as we do", code: "JM204", edits: []edit{foreign, over, noLeases()}},
		{name: "Leases were not recorded", code: "JM204", edits: []edit{addDispatched(ended), over}},
	}
}

// TestLeftForLong checks that recent leftovers of dispatch count as in
// progress.
func TestLeftForLong(t *testing.T) {
	written := func(second string) string {
		return `managedFields: [{manager: kubectl-jobs_managedby, operation: Update, apiVersion: batch/v1,
			fieldsType: FieldsV1, fieldsV1: {}, time: "2026-11-20T23:43:` + second + `Z"}]`
	}
	back := func(second string) edit {
		return addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, written(second), stopped)
	}
	over := addCopy("kwok-w1", "mirror-of-other", "", ended)
	for name, tt := range map[string]struct {
		code  string
		edits []edit
		grace time.Duration
		fires bool
	}{
		"withdrawn just now":              {"JM203", []edit{back("41"), noLeases()}, 10 * time.Second, false},
		"withdrawn a while ago":           {"JM203", []edit{back("31"), noLeases()}, 10 * time.Second, true},
		"its Lease was released just now": {"JM203", []edit{back("31"), released}, 10 * time.Second, false},
		"ended, and the holder just died": {"JM204", []edit{addDispatched(ended), over, released}, 6 * time.Second, false},
		"ended and died a while ago":      {"JM204", []edit{addDispatched(ended), over, expired}, 6 * time.Second, true},
		"died long ago, ended just now":   {"JM204", []edit{addDispatched(ended), over, expired}, 12 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{name: name, code: "left", base: "running", edits: tt.edits}.inventory(t)
			rule, _ := rules.ByCode(tt.code)
			assert.Equal(t, len(judge(t, v, []rules.Rule{rule}, tt.grace)) > 0, tt.fires, "now is %s", v.Now)
		})
	}
}

// TestRemediesOfLeftovers checks the commands for mirrors that are not
// where, or not what, the origin says.
func TestRemediesOfLeftovers(t *testing.T) {
	const again, cancel = "kubectl jobs-managedby dispatch other -n default --context kwok-mgr --to ", "kubectl jobs-managedby cancel other -n default --context kwok-mgr"
	end, endForeign := quoted(cancel), quoted(cancel+" --managed-by "+runner)
	remove := quoted("kubectl --context kwok-w1 -n default delete job other")
	foreign := addOwned(runner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: `+worker1UID+`/default/other/mirror-of-other}`, started)
	for name, tt := range map[string]struct {
		code   string
		edits  []edit
		remedy string
	}{
		"the mirror is in another namespace": {
			"JM201",
			[]edit{dispatchedTo("batch"), copiedTo("batch", started), expired},
			"resume with the same mirror: " + quoted(again+"kwok-w1 --namespace-to batch") + "; or end the Job: " + end,
		},
		"only the annotation names another namespace": {
			"JM201",
			[]edit{dispatchedTo("batch"), expired},
			"resume with the same mirror: " + quoted(again+"kwok-w1 --namespace-to batch") + "; or end the Job: " + end,
		},
		"the end, in another namespace": {
			"JM202",
			[]edit{dispatchedTo("batch"), copiedTo("batch", ended), expired},
			"copy the final status: " + quoted(again+"kwok-w1 --namespace-to batch") + "; or end the Job: " + end + "; keep the mirror until then",
		},
		"another mirror, made in place of the first": {
			"JM201",
			[]edit{addDispatched(started), addCopy("kwok-w1", "newer-mirror", "", started), expired},
			"resume with the same mirror: " + quoted(again+"kwok-w1 --new-mirror") + "; or end the Job: " + end,
		},
		"of another owner": {
			"JM201",
			[]edit{foreign, addCopy("kwok-w1", "mirror-of-other", "", started), expired},
			"resume with the same mirror: " + quoted(again+"kwok-w1 --managed-by "+runner) + "; or end the Job: " + endForeign,
		},
		"another Job in its place": {
			"JM105",
			[]edit{addDispatched(started), addOther("kwok-w1", "default", ""), expired},
			"delete the other Job, if no user needs it: " + remove + ", and then start this one from scratch: " +
				quoted(again+"kwok-w1 --new-mirror") + "; or end the Job: " + end + ", create the Job again, and dispatch it with --namespace-to another namespace",
		},
		"the mirror of another owner's Job is gone": {
			"JM105",
			[]edit{foreign, expired},
			"check that the controller of " + runner + " runs and reaches kwok-w1; if the Job was dispatched, start the Job from scratch: " +
				quoted(again+"kwok-w1 --managed-by "+runner+" --new-mirror") + "; or end the Job: " + endForeign,
		},
		"withdrawn": {
			"JM203",
			[]edit{addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", stopped), noLeases()},
			"start the Job from scratch: " + quoted(again+"CONTEXT") + "; or end the Job: " + end,
		},
		"its mirror stays": {
			"JM204",
			[]edit{addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "", ended), expired},
			"dispatch it again, which sets the TTL of the mirror: " + quoted(again+"kwok-w1") + "; or delete the mirror now: " + remove,
		},
		"a mirror that it does not name stays": {
			"JM204",
			[]edit{addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", ended), addCopy("kwok-w1", "mirror-of-other", "", ended), expired},
			"delete the mirror: " + remove,
		},
	} {
		t.Run(name, func(t *testing.T) {
			findings := judge(t, testCase{name: name, code: "remedies", base: "running", edits: tt.edits}.inventory(t), rules.All(), 0)
			assert.Equal(t, strings.Join(codesOf(findings), " "), tt.code)
			assert.Equal(t, findings[0].Remedy, tt.remedy)
		})
	}
}

// TestLeftovers checks the messages of these findings.
func TestLeftovers(t *testing.T) {
	find := func(edits ...edit) inspect.Finding {
		return judge(t, testCase{code: "said", base: "running", edits: edits}.make(t), rules.All(), 0)[0]
	}
	f := find(addDispatched(started), addOther("kwok-w1", "default", "labels: {jobmanagedby.github.io/origin-uid: someone-elses}"), expired)
	assert.Equal(t, f.Message, "Job default/other: its mirror default/other on kwok-w1 is gone; another Job has its name")
	assert.Equal(t, f.Evidence[2], "kwok-w1: metadata.uid of Job default/other is not-the-mirror, created 2026-11-20T23:43:38Z")
	assert.Equal(t, f.Evidence[3], "kwok-w1: label jobmanagedby.github.io/origin-uid of Job default/other is someone-elses")

	f = find(addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, "", stopped), noLeases())
	assert.Equal(t, f.Severity, inspect.Warning)
	assert.Equal(t, f.Message, "Job default/other lost its mirror, and no dispatcher holds its Lease")
	assert.Equal(t, len(f.Evidence), 4)

	f = find(addDispatched(ended), addCopy("kwok-w1", "mirror-of-other", "", ended), expired)
	assert.Equal(t, f.Severity, inspect.Info)
	assert.Equal(t, f.Message, "Job default/other: its mirror on kwok-w1 is Complete; no dispatcher will delete it")
	assert.Equal(t, f.Evidence[3], "kwok-w1: spec.ttlSecondsAfterFinished of Job default/other is not set")
}
