package rules

import (
	"fmt"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// few is how many of many are named.
const few = 3

// stamp is a time as evidence quotes it.
func stamp(t interface{ UTC() time.Time }) string { return t.UTC().Format(time.RFC3339) }

// named is an object as evidence quotes it.
func named(o Object) string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// pinOf quotes where an origin says that its mirror is.
func pinOf(j *inspect.Job) string {
	return fmt.Sprintf("%s: annotation %s of %s is %s", j.Context, delegation.MirrorAnnotation, named(Of(j)), j.Pinned())
}
