package history

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// By is the property by which Jobs are grouped.
type By struct {
	name string
	// label is the key of a label, for byLabel.
	label string
}

// The values of --by.
const (
	byNamespace = "namespace"
	byQueue     = "queue"
	byOwner     = "owner"
	byCluster   = "cluster"
	byLabel     = "label"
)

// ByValues returns the possible values of By. The last one takes the key of a
// label after it.
func ByValues() []string { return []string{byNamespace, byQueue, byOwner, byCluster, byLabel + "="} }

// ParseBy parses a value of --by. "" is the zero value.
func ParseBy(text string) (By, error) {
	name, label, hasLabel := strings.Cut(text, "=")
	switch {
	case text == "":
		return By{}, nil
	case name == byLabel && hasLabel:
		if len(validation.IsQualifiedName(label)) > 0 {
			return By{}, fmt.Errorf("--by %s: %q is not a label key, such as team or example.com/team", text, label)
		}
		return By{name, label}, nil
	case name == byLabel:
		return By{}, errors.New("--by label takes the key of a label: --by label=KEY")
	case !hasLabel && slices.Contains(ByValues(), name):
		return By{name: name}, nil
	}
	return By{}, fmt.Errorf("unknown --by %q; choose one of %sKEY", text, strings.Join(ByValues(), ", "))
}

// String returns the value as the user typed it.
func (b By) String() string {
	if b.name == byLabel {
		return byLabel + "=" + b.label
	}
	return b.name
}

// Labels returns the labels that must be read with the Jobs.
func (b By) Labels() []string {
	if b.label == "" {
		return nil
	}
	return []string{b.label}
}

// group returns the group of a Job, "" if it has none.
func (b By) group(j *inspect.PastJob, isAmbiguous map[string]bool) string {
	switch b.name {
	case byNamespace:
		return j.Namespace
	case byQueue:
		if j.Queue == "" {
			return ""
		}
		return j.Namespace + "/" + j.Queue
	case byOwner:
		return string(j.ManagedBy)
	case byCluster:
		if j.Cluster == nil {
			return ""
		}
		if isAmbiguous[*j.Cluster] {
			return *j.Cluster + " of " + j.Context
		}
		return *j.Cluster
	}
	return j.Labels[b.label]
}

// groups returns the sums of the Jobs by group, the group with the most Jobs
// first.
func groups(jobs []inspect.PastJob, by By) []inspect.HistorySum {
	parts := map[string][]*inspect.PastJob{}
	isAmbiguous := ambiguous(jobs)
	for i := range jobs {
		name := by.group(&jobs[i], isAmbiguous)
		parts[name] = append(parts[name], &jobs[i])
	}
	sums := []inspect.HistorySum{}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		sums = append(sums, sum(name, slices.Values(parts[name])))
	}
	slices.SortStableFunc(sums, func(a, b inspect.HistorySum) int { return cmp.Compare(b.Jobs, a.Jobs) })
	return sums
}

// ambiguous returns the worker names that several management clusters use.
// They may mean different clusters.
func ambiguous(jobs []inspect.PastJob) map[string]bool {
	manager, is := map[string]string{}, map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		if j.Cluster == nil || *j.Cluster == "" {
			continue
		}
		first, known := manager[*j.Cluster]
		if known && first != j.Context {
			is[*j.Cluster] = true
		}
		manager[*j.Cluster] = j.Context
	}
	return is
}

// each returns an iterator over the Jobs of a list.
func each(jobs []inspect.PastJob) iter.Seq[*inspect.PastJob] {
	return func(yield func(*inspect.PastJob) bool) {
		for i := range jobs {
			if !yield(&jobs[i]) {
				return
			}
		}
	}
}

// sum returns the sums of the Jobs of a group. What is unknown for all Jobs remains nil.
func sum(group string, jobs iter.Seq[*inspect.PastJob]) inspect.HistorySum {
	s := inspect.HistorySum{Group: group, ResourceHours: map[string]float64{}}
	var waits, runs []int64
	for j := range jobs {
		s.Jobs++
		switch j.Result {
		case inspect.ResultFailed:
			s.Failed++
		case inspect.ResultDeleted:
			s.Deleted++
		default:
		}
		waits, runs = known(waits, j.WaitSeconds), known(runs, j.RunSeconds)
		s.Evictions, s.LostSeconds = add(s.Evictions, j.Evictions), add(s.LostSeconds, j.LostSeconds)
		if j.ResourceHours != nil {
			s.Measured++
		}
		for name, n := range j.ResourceHours {
			s.ResourceHours[name] += n
		}
		s.Clusters = addCluster(s.Clusters, j.Cluster)
	}
	if s.Jobs == 0 {
		s.Evictions, s.LostSeconds, s.Clusters = new(int64), new(int64), []string{}
	}
	s.Waits, s.WaitMedianSeconds, s.WaitP90Seconds = len(waits), Median(waits), Percentile90(waits)
	s.Runs, s.RunMedianSeconds = len(runs), Median(runs)
	return s
}

// add adds a number to a sum. An unknown number changes nothing.
func add[N int32 | int64](total *int64, n *N) *int64 {
	if n == nil {
		return total
	}
	if total == nil {
		total = new(int64)
	}
	*total += int64(*n)
	return total
}

// addCluster adds the cluster that ran a Job to sorted ones. An unknown cluster changes nothing, and "" is none.
func addCluster(clusters []string, cluster *string) []string {
	if cluster == nil {
		return clusters
	}
	i, isKnown := slices.BinarySearch(clusters, *cluster)
	switch {
	case *cluster == "" && clusters == nil:
		return []string{}
	case *cluster == "" || isKnown:
		return clusters
	}
	return slices.Insert(clusters, i, *cluster)
}

func known(values []int64, value *int64) []int64 {
	if value == nil {
		return values
	}
	return append(values, *value)
}

// Median returns the middle one of the values: of an even number, the mean of the two in the middle, rounded
// to a whole number. It returns nil if there are no values.
func Median(values []int64) *int64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	low, high := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return new(low + (high-low+1)/2)
}

// Percentile90 returns the smallest of the values that 90% of all values do not exceed (nearest rank). It
// returns nil if there are no values.
func Percentile90(values []int64) *int64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := (9*len(sorted) + 9) / 10
	return new(sorted[rank-1])
}
