package rules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

const recordings = "../../../test/recordings"

// testCase is a modified real recording in which a rule must find something,
// or nothing.
type testCase struct {
	name string
	code string
	// base is a recording.
	base  string
	edits []edit
	// kinds are the kinds that are read, only Jobs if empty.
	kinds []string
	// fires is whether the rule must find something.
	fires bool
	// later is how much time has passed since the recording.
	later time.Duration
	// deny are rights that the manager's user lacks on worker2. Nil means that
	// they were not requested.
	deny []inspect.Access
	// void is why worker2 rejects the manager's token, "" for no known reason.
	void string
	// mutate changes all objects in place, nil leaves them.
	mutate func(object map[string]any)
}

// edit changes the objects of a context.
type edit struct {
	context string
	// object is "Kind/name" or "Kind/namespace/name". "" adds objects.
	object string
	// patch is a JSON merge patch in YAML. "" removes the object. If object is
	// "", patch is the object to add.
	patch string
	// fails records that the context did not answer.
	fails bool
	// forbids is a resource that the user may not read, such as
	// "jobsets.jobset.x-k8s.io".
	forbids string
	// version is the version that the context's API server reports, "" leaves
	// it unchanged.
	version string
	// skew is how many seconds the context's clock is ahead, 0 leaves it
	// unchanged.
	skew float64
}

func patch(context, object, text string) edit {
	return edit{context: context, object: object, patch: text}
}
func remove(context, object string) edit      { return edit{context: context, object: object} }
func add(context, text string) edit           { return edit{context: context, patch: text} }
func unreachable(context string) edit         { return edit{context: context, fails: true} }
func forbidden(context, resource string) edit { return edit{context: context, forbids: resource} }

func versioned(context, version string) edit      { return edit{context: context, version: version} }
func skewed(context string, seconds float64) edit { return edit{context: context, skew: seconds} }

// cases returns the cases of all families.
func cases() []testCase {
	return slices.Concat(plumbingCases(), engagementCases(), waitingCases(), runningCases(), orphanCases(), ownerCases(), lifeCases(), stallCases(), stepCases(), shortfallCases(), overdueCases(), dispatchingCases(), kindCases(), liveCases(), unreachedCases(), setupCases())
}

// judge returns the findings of the rules, and checks their remedies.
func judge(t *testing.T, v *inspect.Inventory, all []rules.Rule, grace time.Duration) []inspect.Finding {
	t.Helper()
	findings := rules.Judge(v, all, rules.Options{Grace: grace}).Findings
	for _, f := range findings {
		checkRemedy(t, f)
	}
	return findings
}

// made has the inventories of cases, by code and name, because several tests
// use all of them.
var made sync.Map

func (c testCase) inventory(t *testing.T) *inspect.Inventory {
	t.Helper()
	assert.Assert(t, c.code != "" && c.name != "", "two such cases would be one")
	key := c.code + " " + c.name
	if known, ok := made.Load(key); ok {
		v, _ := known.(*inspect.Inventory)
		return v
	}
	v := c.make(t)
	made.Store(key, v)
	return v
}

func (c testCase) make(t *testing.T) *inspect.Inventory {
	t.Helper()
	if strings.HasPrefix(c.code, "JM4") {
		v := open(t, c.bundle(t)).setUp(t)
		if c.deny != nil {
			v.Facts("kwok-mgr").Setup.SetDenied("worker2", c.deny)
		}
		if c.void != "" {
			v.Facts("kwok-mgr").Setup.SetVoid("worker2", c.void)
		}
		return v
	}
	return inventory(t, c.bundle(t), c.kinds...)
}

// bundle writes the modified recording to a directory.
func (c testCase) bundle(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(recordings, c.base)
	snapshot := recordedSnapshot(t, source)
	contexts, _ := snapshot["contexts"].([]any)
	for _, entry := range contexts {
		context, _ := entry.(map[string]any)
		file, ok := context["file"].(string)
		if !ok {
			continue
		}
		name, _ := context["name"].(string)
		items := recorded(t, filepath.Join(source, file))
		for _, e := range c.edits {
			switch {
			case e.context != name:
			case e.fails:
				delete(context, "file")
				context["error"] = "connection refused"
			case e.forbids != "":
				unread, _ := context["unread"].([]any)
				context["unread"] = append(unread, map[string]any{
					"resource": e.forbids, "status": map[string]any{"code": 403, "reason": "Forbidden", "message": "no user may"},
				})
			case e.version != "":
				context["version"] = e.version
			case e.skew != 0:
				context["clockSkewSeconds"] = e.skew
			default:
				items = e.apply(t, items)
			}
		}
		if c.mutate != nil {
			for i := range items {
				items[i] = item{object: runtime.DeepCopyJSON(items[i].object)}
				c.mutate(items[i].object)
			}
		}
		if context["file"] != nil {
			if context["objects"] != nil {
				context["objects"] = len(items)
			}
			writeItems(t, filepath.Join(dir, file), items)
		}
	}
	// JSON is YAML too, and takes less time to write.
	changed, err := json.Marshal(snapshot)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "snapshot.yaml"), changed, 0o600))
	if c.later != 0 {
		setLater(t, dir, c.later)
	}
	return dir
}

// inventory reads a snapshot as check does.
func inventory(t *testing.T, dir string, kinds ...string) *inspect.Inventory {
	t.Helper()
	return open(t, dir).inventory(t, kinds...)
}

// opened is an open snapshot, which can be read several times.
type opened struct {
	fleet     *fleet.Fleet
	addresses []kubecontext.Address
	takenAt   func() time.Time
}

func open(t *testing.T, dir string) opened {
	t.Helper()
	b, err := bundle.Open(dir)
	assert.NilError(t, err)
	o := opened{addresses: b.Others(), takenAt: b.TakenAt}
	o.fleet = fleet.Open(t.Context(), b.Contexts(), fleet.Options{AllNamespaces: true, Clock: testingclock.NewFakePassiveClock(b.TakenAt())})
	for _, c := range b.Contexts() {
		o.addresses = append(o.addresses, c.Address())
	}
	return o
}

// inventory reads the snapshot as check does.
func (o opened) inventory(t *testing.T, kinds ...string) *inspect.Inventory {
	t.Helper()
	return read.Read(t.Context(), o.fleet, read.Want{Jobs: &read.Query{AllNamespaces: true, Kinds: kinds}, Evidence: true, Addresses: o.addresses, Now: o.takenAt})
}

// setUp reads the snapshot as doctor does.
func (o opened) setUp(t *testing.T) *inspect.Inventory {
	t.Helper()
	return read.Read(t.Context(), o.fleet, read.Want{Setup: true, Addresses: o.addresses, Now: o.takenAt})
}

// traced reads the snapshot as trace does.
func (o opened) traced(t *testing.T, kind, name string) *inspect.Inventory {
	t.Helper()
	return read.Read(t.Context(), o.fleet, read.Want{Named: &read.Wanted{Kind: kind, Name: name, Namespace: "default"}, Addresses: o.addresses, Now: o.takenAt})
}

func (e edit) apply(t *testing.T, items []item) []item {
	t.Helper()
	var change map[string]any
	assert.NilError(t, yaml.Unmarshal([]byte(e.patch), &change))
	if e.object == "" {
		return append(items, item{object: change})
	}
	found := false
	for i := 0; i < len(items); i++ {
		o := items[i].object
		if !matches(o, e.object) {
			continue
		}
		found = true
		if e.patch == "" {
			items = slices.Delete(items, i, i+1)
			i--
			continue
		}
		before, err := json.Marshal(o)
		assert.NilError(t, err)
		after, err := json.Marshal(change)
		assert.NilError(t, err)
		merged, err := jsonpatch.MergePatch(before, after)
		assert.NilError(t, err)
		var result map[string]any
		assert.NilError(t, json.Unmarshal(merged, &result))
		items[i] = item{object: result}
	}
	assert.Assert(t, found, "there is no %s on %s", e.object, e.context)
	return items
}

// matches reports whether an object is the one that "Kind/name" or
// "Kind/namespace/name" names. A name may end in "*".
func matches(o map[string]any, object string) bool {
	meta, _ := o["metadata"].(map[string]any)
	parts := strings.Split(object, "/")
	name := fmt.Sprint(meta["name"])
	if len(parts) == 3 && fmt.Sprint(meta["namespace"]) != parts[1] {
		return false
	}
	wanted := parts[len(parts)-1]
	if prefix, ok := strings.CutSuffix(wanted, "*"); ok {
		return o["kind"] == parts[0] && strings.HasPrefix(name, prefix)
	}
	return o["kind"] == parts[0] && name == wanted
}

// codesOf returns the codes of findings, without duplicates.
func codesOf(findings []inspect.Finding) []string {
	found := map[string]bool{}
	for _, f := range findings {
		found[f.Code] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// TestCases checks each rule on the cases in which it must find something,
// and on those in which it must not.
func TestCases(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			t.Parallel()
			rule, ok := rules.ByCode(c.code)
			assert.Assert(t, ok, "no rule has the code of the case")
			findings := judge(t, c.inventory(t), []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings) > 0, c.fires, "%+v", findings)
			for _, f := range findings {
				assert.Equal(t, f.Code, c.code)
				assert.Assert(t, f.Message != "" && f.Remedy != "" && len(f.Evidence) > 0, "%+v", f)
				assert.Assert(t, f.Kind != "" && f.Name != "" && f.Context != "", "%+v", f)
				// What one command deletes may take with it what the next one means.
				first, second, _ := strings.Cut(f.Remedy, "`, and then `kubectl ")
				if strings.Contains(first, " delete ") && strings.Contains(second, " delete ") {
					assert.Assert(t, strings.Contains(second, " --ignore-not-found "), f.Remedy)
				}
			}
		})
	}
}
