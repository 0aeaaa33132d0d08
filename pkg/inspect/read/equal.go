package read

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// equal says whether two readings of a Job are the same for a watch. It ignores when the status was
// last written: a write that changes nothing visible is no news.
func equal(a, b *inspect.Job) bool {
	x, y := *a, *b
	x.StatusWrittenAt, y.StatusWrittenAt = nil, nil
	x.Since, y.Since = nil, nil
	x.SpecWrittenAt, y.SpecWrittenAt = nil, nil
	x.Generation, y.Generation = 0, 0
	x.KindRow, y.KindRow = nil, nil
	x.WrittenAs, y.WrittenAs = nil, nil
	return equality.Semantic.DeepEqual(&x, &y)
}
