package util

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// NotFound says where a wanted Job was looked for in vain, and where it could not be.
func NotFound(env Environment, wanted read.Wanted, inventory *inspect.Inventory) error {
	var looked, unread []string
	for _, f := range inventory.Clusters {
		if f.Err != nil {
			unread = append(unread, f.Context)
		} else {
			looked = append(looked, f.Context)
		}
	}
	TellErrors(env.ErrOut, inventory.Errors())
	if len(looked) == 0 {
		return &PartialError{Failed: len(unread), Total: len(unread)}
	}
	where, hint := fmt.Sprintf("in namespace %q of ", wanted.Namespace), "-n or -A looks elsewhere"
	if wanted.Namespace == "" {
		where, hint = "in any namespace of ", ""
	}
	message := fmt.Sprintf("%s %q was not found %scontext", cmp.Or(wanted.Kind, delegation.Job().Name), wanted.Name, where)
	if len(looked) > 1 {
		message += "s"
	}
	message += " " + strings.Join(looked, ", ")
	if len(unread) > 0 {
		message += fmt.Sprintf("; %s could not be looked at", strings.Join(unread, ", "))
	}
	if hint != "" {
		message += "; " + hint
	}
	return errors.New(message)
}
