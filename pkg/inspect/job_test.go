package inspect

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: epoch.Add(d)} }

func TestDuration(t *testing.T) {
	now := epoch.Add(time.Hour)
	_, ok := (&Job{}).Duration(now)
	assert.Assert(t, !ok, "it has not started")
	d, _ := (&Job{StartTime: at(0)}).Duration(now)
	assert.Equal(t, d, time.Hour)
	d, _ = (&Job{StartTime: at(0), CompletionTime: at(time.Minute), FinishedTime: at(2 * time.Minute)}).Duration(now)
	assert.Equal(t, d, time.Minute)
}

func TestDeepCopySharesNothing(t *testing.T) {
	job := Job{
		Completions: new(int32(1)), StartTime: at(0), Mirrors: []Ref{{Name: "a"}}, Findings: []string{"JM001"},
		Dispatcher: &Dispatcher{Holder: "a", Since: at(0), Renewed: at(0)},
	}
	c := job.DeepCopy()
	assert.DeepEqual(t, *c, job)
	*c.Completions, c.Mirrors[0].Name, c.Findings[0] = 2, "b", "JM002"
	c.StartTime.Time = epoch.Add(time.Hour)
	c.Dispatcher.Holder, c.Dispatcher.Since.Time, c.Dispatcher.Renewed.Time = "b", c.StartTime.Time, c.StartTime.Time
	assert.DeepEqual(t, job.Dispatcher, &Dispatcher{Holder: "a", Since: at(0), Renewed: at(0)})
	assert.Equal(t, *job.Completions, int32(1))
	assert.Equal(t, job.Mirrors[0].Name, "a")
	assert.Equal(t, job.Findings[0], "JM001")
	assert.Assert(t, job.StartTime.Time.Equal(epoch))
	assert.Assert(t, (&Job{}).DeepCopy().Mirrors == nil, "null stays null")
	assert.Assert(t, (&Job{}).DeepCopy().Dispatcher == nil, "null stays null")
}

// TestDeepCopyCopiesEachField checks each field that refers to other memory, also one that is added later.
func TestDeepCopyCopiesEachField(t *testing.T) {
	isShared := []string{"Labels", "Object", "KindRow"}
	var job Job
	fields := reflect.ValueOf(&job).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		default:
		}
	}
	copied := reflect.ValueOf(job.DeepCopy()).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			name := fields.Type().Field(i).Name
			assert.Check(t, (f.Pointer() == copied.Field(i).Pointer()) == slices.Contains(isShared, name), name)
		default:
		}
	}
}

func TestDeepCopyOfATraceSharesNoFinding(t *testing.T) {
	tr := Trace{Findings: []Finding{{Evidence: []string{"a"}, Since: at(0), Jobs: []Ref{{Name: "a"}}}}}
	c, ok := tr.DeepCopyObject().(*Trace)
	assert.Assert(t, ok)
	assert.DeepEqual(t, c.Findings, tr.Findings)
	f := c.Findings[0]
	f.Evidence[0], f.Since.Time, f.Jobs[0].Name = "b", epoch.Add(time.Hour), "b"
	assert.DeepEqual(t, tr.Findings, []Finding{{Evidence: []string{"a"}, Since: at(0), Jobs: []Ref{{Name: "a"}}}})
}
