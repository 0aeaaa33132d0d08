package util

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
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
	return errNoNamespace(namespace, contexts)
}

func errNoNamespace(namespace string, contexts []string) error {
	return fmt.Errorf("namespace %q does not exist in %s %s; choose another with -n, or all with -A",
		namespace, map[bool]string{true: "context", false: "contexts"}[len(contexts) == 1], strings.Join(contexts, ", "))
}

// NoteMissingNamespace says that a namespace in which nothing was found does not exist in any of
// the contexts. It says nothing where one of them does not answer.
func NoteMissingNamespace(ctx context.Context, w io.Writer, f *fleet.Fleet) {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	var contexts []string
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (bool, error) {
		found, err := c.Get(ctx, namespaces, "", c.Namespace)
		return found != nil, err
	}) {
		if a.Value || a.Err != nil {
			return
		}
		contexts = append(contexts, a.Context)
	}
	if clusters := f.Clusters(); len(contexts) > 0 && len(clusters) > 0 {
		Tell(w, "note: %v", errNoNamespace(clusters[0].Namespace, contexts))
	}
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
	return NotFoundIn(wanted, looked, unread)
}

// NotFoundIn says in which contexts a wanted Job was looked for in vain, and in which it could
// not be.
func NotFoundIn(wanted read.Wanted, looked, unread []string) error {
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
