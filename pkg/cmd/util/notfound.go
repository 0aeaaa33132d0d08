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

// NamespaceMissing is an error if none of the clusters that were read has a namespace, and nil
// where that is not known of one of them.
func NamespaceMissing(namespace string, v *inspect.Inventory) error {
	var contexts []string
	for _, f := range v.Clusters {
		_, exists := f.Namespaces[namespace]
		isKnown := f.Err == nil && len(f.Namespaces) > 0 && f.Gaps[inspect.PartNamespaces] == nil
		if exists || !isKnown {
			return nil
		}
		contexts = append(contexts, f.Context)
	}
	if len(contexts) == 0 {
		return nil
	}
	return fmt.Errorf("namespace %q does not exist in %s %s; choose another with -n, or all with -A",
		namespace, map[bool]string{true: "context", false: "contexts"}[len(contexts) == 1], strings.Join(contexts, ", "))
}

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
	where, hint := fmt.Sprintf("in namespace %q of ", wanted.Namespace), "name the namespace with -n"
	if wanted.Namespace == "" {
		where, hint = "in any namespace of ", ""
	}
	message := fmt.Sprintf("%s %q not found %scontext", cmp.Or(wanted.Kind, delegation.Job().Name), wanted.Name, where)
	if len(looked) > 1 {
		message += "s"
	}
	message += " " + strings.Join(looked, ", ")
	if len(unread) > 0 {
		message += fmt.Sprintf("; %s not read", strings.Join(unread, ", "))
	}
	if hint != "" {
		message += "; " + hint
	}
	return errors.New(message)
}
