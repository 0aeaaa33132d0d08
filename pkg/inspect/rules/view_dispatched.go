package rules

import "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"

// Lease is that of a Job that is dispatched, nil if there is none; held is whether
// anybody holds it.
func (v *View) Lease(j *inspect.Job) (l *inspect.Lease, held, ok bool) {
	f, _ := v.Facts(j.Context)
	v.note(f, inspect.PartLeases)
	l, ok = f.LeaseOf(j)
	return l, v.inventory.IsHeld(j.Context, l), ok
}
