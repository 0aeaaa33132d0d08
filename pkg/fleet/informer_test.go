package fleet_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestLink: that a cluster does not answer is told once, and so is that it does again.
func TestLink(t *testing.T) {
	var told []string
	l := fleet.Link{
		Lost: func(err error) { told = append(told, err.Error()) },
		Back: func() { told = append(told, "back") },
	}
	for _, err := range []error{nil, errors.New("first"), errors.New("second"), nil, nil, errors.New("third")} {
		l.Note(err)
	}
	assert.DeepEqual(t, told, []string{"first", "back", "third"})
}
