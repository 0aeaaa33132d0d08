package rules_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// as returns a fleet with all Jobs replaced by objects of another kind: with
// the same names, UIDs and states, and Workloads with the names that Kueue
// gives for that kind.
func as(v *inspect.Inventory, row delegation.Kind) *inspect.Inventory {
	job := delegation.Job()
	names := map[string]string{}
	var clusters []*inspect.Facts
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if j.Row().IsJob() {
				names[job.WorkloadNames(j.Name, j.UID, "")[0]] = row.WorkloadNames(j.Name, j.UID, "")[0]
			}
		}
	}
	for _, f := range v.Clusters {
		c := *f
		c.Kinds = []delegation.Kind{row}
		c.Jobs = nil
		c.Leases = maps.Clone(f.Leases)
		for _, j := range f.Jobs {
			c.Jobs = append(c.Jobs, jobAs(j, row, names))
			if l := f.Leases[j.Namespace+"/"+j.Row().LeaseName(j.Name)]; l != nil && j.Row().IsJob() {
				lease := *l
				lease.Name = row.LeaseName(j.Name)
				c.Leases[j.Namespace+"/"+lease.Name] = &lease
			}
		}
		if f.Kueue != nil {
			k := *f.Kueue
			k.Workloads = nil
			for _, w := range f.Kueue.Workloads {
				k.Workloads = append(k.Workloads, workloadAs(w, row, names))
			}
			c.Kueue = &k
		}
		clusters = append(clusters, &c)
	}
	return inspect.NewInventory(v.Now, clusters, v.Addresses)
}

func jobAs(j *inspect.Job, row delegation.Kind, names map[string]string) *inspect.Job {
	if !j.Row().IsJob() {
		return j
	}
	c := *j
	c.KindRow = &row
	c.APIVersion, c.Kind = row.GroupVersionKind().ToAPIVersionAndKind()
	c.Active, c.Ready, c.Succeeded, c.Failed, c.ManualSelector = 0, nil, 0, 0, false
	if j.Marks != nil {
		marks := *j.Marks
		if name := names[marks.Prebuilt]; name != "" {
			marks.Prebuilt = name
		}
		c.Marks = &marks
	}
	return &c
}

func workloadAs(w *kueue.Workload, row delegation.Kind, names map[string]string) *kueue.Workload {
	c := *w
	if name := names[w.Name]; name != "" {
		c.Name = name
	}
	c.OwnerReferences = slices.Clone(w.OwnerReferences)
	for i := range c.OwnerReferences {
		if o := &c.OwnerReferences[i]; o.Kind == "Job" {
			o.APIVersion, o.Kind = row.GroupVersionKind().ToAPIVersionAndKind()
		}
	}
	return &c
}

// jobsAlone are the rules that apply only to Jobs, and why they do not apply
// to other kinds.
func jobsAlone() map[string]string {
	return map[string]string{
		"JM041": "the status of other kinds is copied although the origin is suspended",
		"JM042": "the API server validates the status of Jobs alone",
		"JM050": "the size of other kinds is not read",
		"JM125": "the sizes of other kinds stand in fields that Jobs do not have",
		"JM061": "the label that pods keep names a Job",
		"JM109": "JM301 and JM302 tell of other kinds",
		"JM138": "the start time of other kinds may change",
	}
}

// casesOfJobs are cases of other rules that apply only to Jobs, and why.
func casesOfJobs() map[string]string {
	return map[string]string{
		"JM049 Pods exist since then":                    "only the counters of a Job show its Pods",
		"JM104 a counter cannot decrease":                "the API server validates the status of Jobs alone",
		"JM140 a deadline":                               "other kinds have their own deadlines",
		"JM140 a TTL":                                    "the controllers of other kinds may ignore delegated objects",
		"JM140 quota of a finished Job":                  "Kueue may count other ends than these signs",
		"JM140 quota of a Job whose end was copied late": "Kueue may count other ends than these signs",
		"JM056 MultiKueue uses it again":                 "the start time of other kinds may change",
		"JM141 completed on a lost worker that is back":  "the start time of other kinds may change",
	}
}

var (
	// ofJobs are words that must not be used for another kind.
	ofJobs = regexp.MustCompile(`\bJobs?\b|\bjobs?(\.batch)? `)
	// fieldsOfJobs are fields that kinds do not have where Jobs have them.
	fieldsOfJobs = regexp.MustCompile(`spec\.(managedBy|ttlSeconds)|"spec":\{"(managedBy|ttl)`)
	// ofOthers matches quotes of what others write.
	ofOthers = regexp.MustCompile(`kubectl jobs-managedby|(is Rejected since|since .*, (ClientConnectionFailed|Misconfigured): |unknown: ).*`)
)

// TestRulesHoldForOtherKinds checks that each rule finds the same for another
// kind as for Jobs, unless it applies only to Jobs, and that its text has
// nothing that is true only for Jobs.
func TestRulesHoldForOtherKinds(t *testing.T) {
	kinds := []delegation.Kind{kindRow("jaxjob"), kindRow("appwrapper")}
	for i, c := range cases() {
		if c.kinds != nil || casesOfJobs()[c.code+" "+c.name] != "" {
			continue
		}
		if strings.HasPrefix(c.code, "JM4") {
			// The setup is judged without any object, for all kinds at once.
			continue
		}
		row := kinds[i%len(kinds)]
		t.Run(c.code+" "+c.name+", "+row.Kind, func(t *testing.T) {
			rule, _ := rules.ByCode(c.code)
			findings := judge(t, as(c.inventory(t), row), []rules.Rule{rule}, 0)
			want := c.fires && jobsAlone()[c.code] == ""
			assert.Equal(t, len(findings) > 0, want, "%+v", findings)
			for _, f := range findings {
				checkWords(t, f, row)
			}
		})
	}
}

// checkWords checks that a finding about another kind does not speak of Jobs.
func checkWords(t *testing.T, f inspect.Finding, row delegation.Kind) {
	t.Helper()
	for _, line := range append([]string{f.Message, f.Remedy}, f.Evidence...) {
		line = ofOthers.ReplaceAllString(line, "")
		assert.Assert(t, !ofJobs.MatchString(line), "%s: %s", f.Code, line)
		if f.Kind == row.Kind && len(row.ManagedBy) > 2 {
			assert.Assert(t, !fieldsOfJobs.MatchString(line), "%s: %s", f.Code, line)
		}
	}
}

// TestRecordingsOfOtherKinds checks the same for whole recordings.
func TestRecordingsOfOtherKinds(t *testing.T) {
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		v := inventory(t, recordings+"/"+e.Name())
		all := slices.DeleteFunc(codesOf(judge(t, v, rules.All(), 0)), func(code string) bool { return jobsAlone()[code] != "" })
		for _, name := range []string{"jobset", "trainjob", "pytorchjob", "rayjob", "raycluster", "appwrapper", "taskrun"} {
			t.Run(e.Name()+", "+name, func(t *testing.T) {
				want := all
				findings := judge(t, as(v, kindRow(name)), rules.All(), 0)
				codes := codesOf(findings)
				if len(kindRow(name).Allowed) > 0 {
					// These kinds refuse the owner of a dispatched Job.
					codes = slices.DeleteFunc(codes, func(c string) bool { return c == "JM305" && e.Name() != "unknown-owner" })
					want = slices.DeleteFunc(slices.Clone(want), func(c string) bool { return c == "JM201" })
				}
				if len(kindRow(name).Allowed) == 0 || e.Name() != "unknown-owner" {
					assert.Assert(t, slices.Equal(codes, want), "%v is not %v", codes, want)
				} else {
					assert.DeepEqual(t, codes, []string{"JM305"})
				}
				for _, f := range findings {
					assert.Assert(t, f.Kind != "Job")
				}
			})
		}
	}
}

// TestNotResumed checks that the finding about a mirror that is not resumed names the program that resumes its kind.
func TestNotResumed(t *testing.T) {
	rule, _ := rules.ByCode("JM129")
	for kind, tt := range map[string]struct{ message, remedy string }{
		"jobset": {
			"Kueue on kwok-w1 (worker1) admitted it, but does not resume its mirror", "; check that integrations.frameworks of its configuration enables JobSets",
		},
		"pipelinerun": {
			"Kueue on kwok-w1 (worker1) admitted it, but tekton-kueue does not resume its mirror",
			"check that tekton-kueue runs on kwok-w1, because Kueue itself does not resume PipelineRuns: `kubectl --context kwok-w1 get deployments -A`",
		},
	} {
		found := judge(t, as(testCase{base: "running", edits: notResumed()}.make(t), kindRow(kind)), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, kind)
		assert.Assert(t, strings.HasSuffix(found[0].Message, tt.message), found[0].Message)
		assert.Assert(t, strings.HasSuffix(found[0].Remedy, tt.remedy), found[0].Remedy)
	}
}

// TestBigFleetOfAnotherKindIsHealthy checks that a healthy fleet has no
// finding, whatever its size and kind.
func TestBigFleetOfAnotherKindIsHealthy(t *testing.T) {
	for _, name := range []string{"jobset", "pytorchjob", "raycluster"} {
		assert.DeepEqual(t, judge(t, as(bigFleet(500, 5), kindRow(name)), rules.All(), 0), []inspect.Finding{})
	}
}

// TestDiscoveredKinds checks the findings about kinds that are in no table:
// their status may be empty, and their managedBy may have any value.
func TestDiscoveredKinds(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Experiment"}
	row := delegation.DiscoveredKind(gvk, "experiments", nil, []string{"spec", "managedBy"})
	for _, tt := range []struct {
		name   string
		owner  delegation.Owner
		status delegation.Status
		want   []string
	}{
		{"MultiKueue's, whose status says nothing", delegation.MultiKueue, delegation.Unknown, nil},
		{"the team that looks after it", "team-a", delegation.Unclaimed, nil},
		{"what an id looks like", "/subscriptions/a/resourceGroups/b", delegation.Unclaimed, nil},
		{"an unknown owner", runner, delegation.Unclaimed, []string{"JM014"}},
		{"an owner that took it up", runner, delegation.Unknown, nil},
		{"the last part of a known owner", "multikueue", delegation.Unclaimed, []string{"JM102"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := as(inventory(t, recordings+"/running"), row)
			var clusters []*inspect.Facts
			for _, f := range v.Clusters {
				c := *f
				for _, j := range c.Jobs {
					if j.Status = delegation.Unknown; !j.ManagedBy.IsBuiltIn() {
						j.ManagedBy, j.Status = tt.owner, tt.status
					}
					j.StartTime = nil
				}
				if c.Context != "kwok-mgr" && tt.owner != delegation.MultiKueue {
					c.Jobs = nil
				}
				if tt.owner != delegation.MultiKueue {
					c.Kueue = nil
				}
				clusters = append(clusters, &c)
			}
			findings := judge(t, inspect.NewInventory(v.Now, clusters, v.Addresses), rules.All(), 0)
			assert.DeepEqual(t, codesOf(findings), tt.want)
			for _, f := range findings {
				assert.Assert(t, f.Code != "JM014" || f.Severity == inspect.Warning)
			}
		})
	}
}
