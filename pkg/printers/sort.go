package printers

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Sorter orders Jobs by a field that a user chose with --sort-by.
type Sorter = SorterOf[inspect.Job]

// SorterOf orders values by a field that a user chose with --sort-by. The zero value keeps their
// order.
//
// It does not use kubectl's own sorter, which parses the path again in each comparison, and ends
// the process on a field that it cannot compare.
type SorterOf[T any] struct{ path *jsonpath.JSONPath }

// NewSorter returns a Sorter for a JSONPath expression, such as ".creationTimestamp" or
// "{.status}", or, as for kubectl get, ".metadata.creationTimestamp". It returns an error for a
// path to a field that no Job has, or whose values have no order.
func NewSorter(expression string) (*Sorter, error) {
	return newSorter(expression, fullJob(), "Jobs have no such number, text or time. Use .creationTimestamp, .startTime, .status, .succeeded or .name")
}

// newSorter is NewSorter for any type. sample has every field, and shows whether a path points
// to a value; hint ends the error if it does not.
func newSorter[T any](expression string, sample *T, hint string) (*SorterOf[T], error) {
	if expression == "" {
		return &SorterOf[T]{}, nil
	}
	relaxed, err := get.RelaxedJSONPathExpression(expression)
	if err != nil {
		return nil, fmt.Errorf("cannot sort by %q: %w", expression, err)
	}
	relaxed = flatten(relaxed)
	path := jsonpath.New("sort-by").AllowMissingKeys(true)
	if err := path.Parse(relaxed); err != nil {
		return nil, fmt.Errorf("cannot sort by %q: %w", expression, err)
	}
	s := &SorterOf[T]{path: path}
	if _, err := path.FindResults(*sample); err != nil {
		return nil, fmt.Errorf("cannot sort by %q: %w", expression, err)
	}
	if s.key(sample) == nil {
		return nil, fmt.Errorf("cannot sort by %q: %s", expression, hint)
	}
	return s, nil
}

// IsNone reports whether the sorter keeps the order of values.
func (s *SorterOf[T]) IsNone() bool { return s.path == nil }

// Sort orders values and keeps the order of equal ones. Values without the field come first, as
// in kubectl.
func (s *SorterOf[T]) Sort(values []*T) {
	if s.path == nil {
		return
	}
	type keyed struct {
		key   any
		value *T
	}
	rows := make([]keyed, len(values))
	for i := range values {
		rows[i] = keyed{s.key(values[i]), values[i]}
	}
	slices.SortStableFunc(rows, func(a, b keyed) int { return compareKeys(a.key, b.key) })
	for i := range rows {
		values[i] = rows[i].value
	}
}

// SortValues is Sort for a list of values.
func (s *SorterOf[T]) SortValues(values []T) {
	sorted := pointers(slices.Clone(values))
	s.Sort(sorted)
	for i := range sorted {
		values[i] = *sorted[i]
	}
}

// key returns the value at the path as an int64, a float64, a string, a bool or a time.Time; nil
// if there is none.
func (s *SorterOf[T]) key(of *T) any {
	// The path itself is valid. An error means an index beyond the end of a list, so there is no
	// value.
	results, err := s.path.FindResults(*of)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	v := results[0][0]
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	if t, ok := v.Interface().(metav1.Time); ok {
		return t.Time
	}
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Float64:
		return v.Float()
	default:
		return nil
	}
}

func compareKeys(a, b any) int {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return -1
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y)
		}
	case bool:
		if y, ok := b.(bool); ok {
			return compareBools(x, y)
		}
	}
	if b == nil {
		return 1
	}
	return 0
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// fullJob returns a Job that has every field.
func fullJob() *inspect.Job {
	n, t := int32(1), metav1.NewTime(time.Unix(1, 0))
	return &inspect.Job{
		Completions: &n, Parallelism: &n, Ready: &n,
		StartTime: &t, CompletionTime: &t, FinishedTime: &t, StatusWrittenAt: &t, Since: &t,
		Mirrors: []inspect.Ref{{}}, Findings: []string{""}, Reason: new(inspect.JobReason), Message: new(string),
	}
}
