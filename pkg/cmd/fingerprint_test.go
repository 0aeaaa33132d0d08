package cmd

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestFingerprints: a problem has the same fingerprint in a later run, whatever its age and the
// order of contexts, and no two problems share one.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, name, dir string) {
		t.Helper()
		if strings.HasPrefix(name, "burst-") {
			return
		}
		want := fingerprints(t, dir)
		reversed := fingerprints(t, changed(t, name, 0, true))
		assert.DeepEqual(t, slices.Sorted(maps.Values(reversed)), slices.Sorted(maps.Values(want)))
		for _, later := range []time.Duration{time.Second, time.Hour} {
			for problem, fingerprint := range fingerprints(t, changed(t, name, later, false)) {
				// Later, rules find more problems, and more objects with problems.
				if before, isKnown := want[problem]; isKnown {
					assert.Equal(t, fingerprint, before, problem)
				}
			}
		}
	})
}

// changed returns a copy of a recording that was taken later, or whose contexts are in another
// order.
func changed(t *testing.T, name string, later time.Duration, isReversed bool) string {
	t.Helper()
	return copyOf(t, name, func(text string) string {
		var snapshot struct {
			APIVersion string           `json:"apiVersion"`
			Kind       string           `json:"kind"`
			TakenAt    time.Time        `json:"takenAt"`
			Contexts   []map[string]any `json:"contexts"`
		}
		assert.NilError(t, yaml.UnmarshalStrict([]byte(text), &snapshot))
		snapshot.TakenAt = snapshot.TakenAt.Add(later)
		if isReversed {
			slices.Reverse(snapshot.Contexts)
		}
		changed, err := yaml.Marshal(snapshot)
		assert.NilError(t, err)
		return string(changed)
	})
}

// fingerprints returns the fingerprints of all problems of a recording, by their objects.
func fingerprints(t *testing.T, dir string) map[string]string {
	t.Helper()
	var list inspect.FindingList
	decode(t, &list, "check", "-A", "--from", dir, "-o", "json", "--fail-on", "none", "--grace", "0s")
	all, known := map[string]string{}, map[string]bool{}
	for _, f := range list.Items {
		problem := strings.Join([]string{f.Code, f.Context, f.Kind, f.Namespace, f.Name}, " ")
		assert.Assert(t, f.Fingerprint != "" && !known[f.Fingerprint], problem)
		all[problem], known[f.Fingerprint] = f.Fingerprint, true
	}
	return all
}
