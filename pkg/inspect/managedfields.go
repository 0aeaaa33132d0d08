package inspect

import (
	"bytes"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// StatusWrittenAt returns the latest time at which the status changed, nil if it never did. It is
// not a heartbeat: a write that changes nothing does not count.
func StatusWrittenAt(fields []metav1.ManagedFieldsEntry) *metav1.Time {
	return lastWrite(fields, "status")
}

// SpecWrittenAt returns the latest time at which anything but the status or another subresource
// changed; nil if unknown.
func SpecWrittenAt(fields []metav1.ManagedFieldsEntry) *metav1.Time { return lastWrite(fields, "") }

func lastWrite(fields []metav1.ManagedFieldsEntry, subresource string) *metav1.Time {
	var latest *metav1.Time
	for i := range fields {
		if f := &fields[i]; f.Subresource == subresource && f.Time != nil && (latest == nil || latest.Before(f.Time)) {
			latest = f.Time
		}
	}
	return clone(latest)
}

// StatusWriters returns the managers that have changed the status, without duplicates.
func StatusWriters(fields []metav1.ManagedFieldsEntry) []string { return writersOf(fields, "status") }

func writersOf(fields []metav1.ManagedFieldsEntry, subresource string) []string {
	var writers []string
	for i := range fields {
		if f := &fields[i]; f.Subresource == subresource && !slices.Contains(writers, f.Manager) {
			writers = append(writers, f.Manager)
		}
	}
	return writers
}

// SpecWriter is a manager that has changed anything but the status or another subresource of an object.
type SpecWriter struct {
	Name string
	// At is when it did so last, nil if unknown.
	At *metav1.Time
}

// SpecWriters returns the managers that have changed anything but the status or another
// subresource, each once.
func SpecWriters(fields []metav1.ManagedFieldsEntry) []SpecWriter {
	var writers []SpecWriter
	for _, name := range writersOf(fields, "") {
		own := slices.DeleteFunc(slices.Clone(fields), func(f metav1.ManagedFieldsEntry) bool { return f.Manager != name })
		writers = append(writers, SpecWriter{Name: name, At: SpecWrittenAt(own)})
	}
	return writers
}

// WrittenAs returns the API versions through which an object was written.
func WrittenAs(fields []metav1.ManagedFieldsEntry) []string {
	var versions []string
	for i := range fields {
		if v := fields[i].APIVersion; v != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return versions
}

// Nominates reports whether a field manager owns the nominated clusters in the status of a Workload.
// It returns false if the entry does not list its fields. Reading keeps such lists for this field
// only.
func Nominates(f *metav1.ManagedFieldsEntry) bool {
	return f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:nominatedClusterNames"`))
}

// NominatedAt returns when the nominations of a Workload were written, by the clock of its cluster,
// or the zero time if its managed fields do not show it. Copies on workers are created after that.
func NominatedAt(w *kueue.Workload) time.Time {
	if len(w.Status.Nominated) == 0 {
		return time.Time{}
	}
	for i := range w.ManagedFields {
		if f := &w.ManagedFields[i]; f.Time != nil && Nominates(f) {
			return f.Time.Time
		}
	}
	return time.Time{}
}
