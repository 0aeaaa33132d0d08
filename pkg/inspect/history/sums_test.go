package history_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/history"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func by(t *testing.T, text string) history.By {
	t.Helper()
	b, err := history.ParseBy(text)
	assert.NilError(t, err)
	assert.Equal(t, b.String(), text)
	return b
}

// TestGroups checks the sums of Jobs by each property.
func TestGroups(t *testing.T) {
	var jobs []*inspect.Job
	var workloads []*kueue.Past
	for i := range 10 {
		name := fmt.Sprint("j", i)
		jobs = append(jobs, job(name, delegation.MultiKueue, delegation.Complete, func(j *inspect.Job) {
			j.Labels = map[string]string{"team": []string{"vision", "speech"}[i%2]}
		}))
		workloads = append(workloads, past(name, func(w *kueue.Past) {
			w.AdmittedAt = at(i + 1)
			w.Cluster = []string{"paris", "paris", "tokyo"}[i%3]
		}))
	}
	jobs = append(jobs, job("failed", delegation.Dispatch, delegation.Failed, func(j *inspect.Job) { j.Namespace = "etl" }))
	for of, want := range map[string][]string{
		"namespace":  {"ml 10 0 [paris tokyo]", "etl 1 1 []"},
		"queue":      {"ml/gpu 10 0 [paris tokyo]", " 1 1 []"},
		"owner":      {"kueue.x-k8s.io/multikueue 10 0 [paris tokyo]", "jobmanagedby.github.io/dispatch 1 1 []"},
		"cluster":    {"paris 7 0 [paris]", "tokyo 3 0 [tokyo]", " 1 1 []"},
		"label=team": {"speech 5 0 [paris tokyo]", "vision 5 0 [paris tokyo]", " 1 1 []"},
	} {
		list := listOf(history.Options{By: by(t, of)}, jobs, workloads...)
		var got []string
		for _, s := range list.Groups {
			got = append(got, fmt.Sprintf("%s %d %d %v", s.Group, s.Jobs, s.Failed, s.Clusters))
		}
		assert.DeepEqual(t, got, want)
	}
	s := listOf(history.Options{By: by(t, "namespace")}, jobs, workloads...).Groups[0]
	// The waits are 1 to 10 minutes, and the runs 50 to 59.
	assert.Equal(t, *s.WaitMedianSeconds, int64(5*60+30))
	assert.Equal(t, *s.WaitP90Seconds, int64(9*60))
	assert.Equal(t, *s.RunMedianSeconds, int64(54*60+30))
	assert.Equal(t, s.Waits, 10)
	gpuMinutes := 0
	for i := range 10 {
		gpuMinutes += 4 * (59 - i)
	}
	assert.Assert(t, s.ResourceHours["nvidia.com/gpu"]-float64(gpuMinutes)/60 < 1e-9)
}

// TestUnknownSums checks that a sum is unknown if no Job has a known value, and that it is not unknown otherwise.
func TestUnknownSums(t *testing.T) {
	var jobs []*inspect.Job
	for _, name := range []string{"unknown", "kept", "forgotten", "nowhere"} {
		jobs = append(jobs, job(name, delegation.MultiKueue, delegation.Failed, func(j *inspect.Job) { j.Namespace = name }))
	}
	list := listOf(history.Options{By: by(t, "namespace")}, jobs, past("kept", nil), past("forgotten", func(w *kueue.Past) {
		w.Lost, w.Evictions = nil, map[string]int32{"Deactivated": 1}
	}), past("nowhere", func(w *kueue.Past) { w.Cluster, w.Reason = "", "Failed" }))
	text := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	got := map[string]string{}
	for _, s := range append(list.Groups, list.Total, listOf(history.Options{}, nil).Total) {
		got[fmt.Sprint(s.Group, s.Jobs)] = fmt.Sprintf("%s %s %#v", text(s.Evictions), text(s.LostSeconds), s.Clusters)
	}
	assert.DeepEqual(t, got, map[string]string{
		"unknown1": "? ? []string(nil)", "kept1": `0 0 []string{"paris"}`, "forgotten1": `1 ? []string{"paris"}`,
		"nowhere1": "0 0 []string{}", "4": `1 0 []string{"paris"}`, "0": "0 0 []string{}",
	})
}

// TestSameNames checks that workers with one name on two management clusters
// are two groups.
func TestSameNames(t *testing.T) {
	read := func(context, uid string) *inspect.Facts {
		j := job(context, delegation.MultiKueue, delegation.Complete, nil)
		j.Context = context
		return &inspect.Facts{Context: context, ClusterUID: uid, Past: pastOf([]*inspect.Job{j}, past(context, nil))}
	}
	list := history.List(inspect.NewInventory(now, []*inspect.Facts{read("east", "1"), read("west", "2")}, nil), history.Options{By: by(t, "cluster")})
	assert.Equal(t, list.Groups[0].Group, "paris of east")
	assert.Equal(t, list.Groups[1].Group, "paris of west")
}

// TestMedianAndPercentile checks that the median of an even number of values is the mean of the two in the
// middle, and that the 90th percentile is the nearest rank, which is one of the values.
func TestMedianAndPercentile(t *testing.T) {
	assert.Assert(t, history.Median(nil) == nil)
	assert.Assert(t, history.Percentile90(nil) == nil)
	for _, c := range []struct {
		values      []int64
		median, p90 int64
	}{
		{[]int64{7}, 7, 7},
		{[]int64{9, 1}, 5, 9},
		{[]int64{109, 21}, 65, 109},
		{[]int64{1, 2}, 2, 2},
		{[]int64{3, 1, 2}, 2, 3},
		{[]int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 6, 9},
		{[]int64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100}, 1, 1},
	} {
		assert.Equal(t, *history.Median(c.values), c.median, "%v", c.values)
		assert.Equal(t, *history.Percentile90(c.values), c.p90, "%v", c.values)
	}
}

// TestParseBy checks invalid values of --by.
func TestParseBy(t *testing.T) {
	for _, text := range []string{"user", "label", "label=", "label=a b", "queue=x"} {
		_, err := history.ParseBy(text)
		assert.ErrorContains(t, err, "--by", text)
	}
}
