package printers_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// TestUnseenLines: lines below the end of the screen are counted and not laid out; the screen is
// the same.
func TestUnseenLines(t *testing.T) {
	list := watched(300)
	for _, height := range []int{3, 10, 250, 400} {
		var seen [2]string
		for i, laidOut := range []int{0, height} {
			var text, out bytes.Buffer
			options := printers.TableOptions{Namespaces: true, Color: true, Width: 50, Height: laidOut, Now: redrawn()}
			assert.NilError(t, printers.Owners(&text, list, options))
			assert.NilError(t, printers.NewScreen(&out).Draw(text.String(), 50, height))
			seen[i] = out.String()
		}
		assert.Equal(t, seen[0], seen[1])
	}
}

// redrawn returns the time at which watches are drawn.
func redrawn() time.Time { return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC) }

// watched returns a list of that many Jobs.
func watched(jobs int) *inspect.OwnerList {
	tally := &inspect.Tally{Context: "hub"}
	one := int32(1)
	for i := range jobs {
		j := inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: fmt.Sprintf("team-%d", i%7), Name: fmt.Sprintf("train-%05d", i), UID: fmt.Sprint(i),
			Completions: &one, Status: []delegation.Status{delegation.Running, delegation.Failed}[i%2], CreationTimestamp: metav1.Time{Time: redrawn().Add(-time.Duration(i) * time.Minute)},
			StartTime: &metav1.Time{Time: redrawn().Add(-time.Hour)},
		}
		if i%3 == 0 {
			j.ManagedBy = delegation.MultiKueue
		}
		tally.Add(j)
	}
	return inspect.MergeTallies([]*inspect.Tally{tally})
}

// BenchmarkRedraw draws the screen of a watch of 10,000 Jobs again.
func BenchmarkRedraw(b *testing.B) {
	list := watched(10000)
	screen := printers.NewScreen(io.Discard)
	for b.Loop() {
		var text bytes.Buffer
		assert.NilError(b, printers.Owners(&text, list, printers.TableOptions{Namespaces: true, Color: true, Width: 160, Height: 50, Now: redrawn()}))
		assert.NilError(b, screen.Draw(text.String(), 160, 50))
	}
}
