package fleet_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestLink checks that each change of a connection is reported once.
func TestLink(t *testing.T) {
	var reported []string
	l := fleet.Link{
		Lost:      func(err error) { reported = append(reported, err.Error()) },
		Recovered: func() { reported = append(reported, "back") },
	}
	for _, err := range []error{nil, errors.New("first"), errors.New("second"), nil, nil, errors.New("third")} {
		l.Note(err)
	}
	assert.DeepEqual(t, reported, []string{"first", "back", "third"})
}
