package util

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// WithA says how to read all namespaces.
const WithA = "or all with -A"

// errNoNamespace says which namespaces do not exist, each in which contexts. orAll says how the user reads all namespaces
// instead.
func errNoNamespace(namespaces []string, contexts map[string][]string, orAll string) error {
	var missing []string
	for _, namespace := range namespaces {
		missing = append(missing, fmt.Sprintf("namespace %q does not exist in %s", namespace, contextsText(contexts[namespace])))
	}
	return fmt.Errorf("%s; choose another with -n, %s", strings.Join(missing, ", and "), orAll)
}

// contextsText names contexts.
func contextsText(contexts []string) string {
	if len(contexts) == 1 {
		return "context " + contexts[0]
	}
	return "contexts " + strings.Join(contexts, ", ")
}

// NamespacesText names the namespaces of the contexts.
func NamespacesText(f *fleet.Fleet) string {
	namespaces := namespacesOf(f)
	if len(namespaces) == 1 {
		return "namespace " + namespaces[0]
	}
	return "namespaces " + strings.Join(namespaces, ", ")
}

// NoteSelection says what limited a reading that found nothing: the labels, and the namespace of the contexts. It
// says if that namespace does not exist. isTable is whether people read the output: programs know what they asked for.
func NoteSelection(ctx context.Context, w io.Writer, f *fleet.Fleet, q *read.Query, isTable bool) {
	if q.LabelSelector != "" {
		Report(w, "note: only Jobs that match --selector %s were read", q.LabelSelector)
	}
	if q.AllNamespaces || NoteMissingNamespace(ctx, w, f) || !isTable {
		return
	}
	switch len(namespacesOf(f)) {
	case 0:
	case 1:
		Report(w, "note: only %s was read; -A reads all namespaces", NamespacesText(f))
	default:
		Report(w, "note: only %s were read; -A reads all namespaces", NamespacesText(f))
	}
}

// namespacesOf returns the namespaces of the contexts, each once, in their order.
func namespacesOf(f *fleet.Fleet) (namespaces []string) {
	for _, c := range f.Clusters() {
		if !slices.Contains(namespaces, c.Namespace) {
			namespaces = append(namespaces, c.Namespace)
		}
	}
	return namespaces
}

// NoteMissingNamespace says that a namespace in which nothing was found does not exist in any of
// the contexts, and reports whether it said that. It prints nothing if one of them does not answer.
func NoteMissingNamespace(ctx context.Context, w io.Writer, f *fleet.Fleet) bool {
	err := MissingNamespace(ctx, f, WithA)
	if err != nil {
		Report(w, "note: %v", err)
	}
	return err != nil
}

// MissingNamespace returns an error if no context has its own namespace. If one of them does
// not answer, it returns nil. orAll says how the user reads all namespaces instead.
func MissingNamespace(ctx context.Context, f *fleet.Fleet, orAll string) error {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	type answer struct {
		namespace string
		exists    bool
	}
	contexts := map[string][]string{}
	for _, a := range fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (answer, error) {
		found, err := c.Get(ctx, namespaces, "", c.Namespace)
		return answer{c.Namespace, found != nil}, err
	}) {
		if a.Value.exists || a.Err != nil {
			return nil //nolint:nilerr // A cluster that does not answer may have the namespace.
		}
		contexts[a.Value.namespace] = append(contexts[a.Value.namespace], a.Context)
	}
	if len(contexts) == 0 {
		return nil
	}
	return errNoNamespace(namespacesOf(f), contexts, orAll)
}

// NotFound returns an error for a Job that an inventory of the fleet lacks, with the contexts that were
// read, those that were not, and the namespaces that have a Job of that name. It prints why contexts
// were not read.
func NotFound(ctx context.Context, env Environment, f *fleet.Fleet, wanted read.Wanted, inventory *inspect.Inventory) error {
	var readContexts, unread []string
	for _, f := range inventory.Clusters {
		if f.Err != nil {
			unread = append(unread, f.Context)
		} else {
			readContexts = append(readContexts, f.Context)
		}
	}
	ReportErrors(env.ErrOut, inventory.Errors())
	if len(readContexts) == 0 {
		return &PartialError{Failed: len(unread), Total: len(unread)}
	}
	return NotFoundIn(ctx, f, wanted, readContexts, unread)
}

// NotFoundIn returns an error for a Job that none of the read contexts has. The error names other
// namespaces of these contexts that have a Job of that name.
func NotFoundIn(ctx context.Context, f *fleet.Fleet, wanted read.Wanted, readContexts, unread []string) error {
	where := fmt.Sprintf("in namespace %q of ", wanted.Namespace)
	if wanted.Namespace == "" {
		where = "in any namespace of "
	}
	message := fmt.Sprintf("%s %q not found %scontext", cmp.Or(wanted.Kind, delegation.Job().Name), wanted.Name, where)
	if len(readContexts) > 1 {
		message += "s"
	}
	message += " " + strings.Join(readContexts, ", ")
	if len(unread) > 0 {
		message += fmt.Sprintf("; %s not read", strings.Join(unread, ", "))
	}
	if kind, isKind := delegation.KindNamed(wanted.Name); isKind && wanted.Kind == "" {
		message = fmt.Sprintf("%s; %q is a kind: write %s/NAME", message, wanted.Name, kind.Name)
		if !kind.IsJob() {
			// Commands that list read only Jobs without --kinds.
			message += ", or list all with ls --kinds " + kind.Name
		}
		return errors.New(message)
	}
	if wanted.Namespace == "" {
		return errors.New(message + kindHint(wanted))
	}
	return errors.New(message + "; " + namespaceHint(ctx, f, wanted, readContexts, len(unread) == 0))
}

// kindHint says how to name an object of another kind, "" if the user named one.
func kindHint(wanted read.Wanted) string {
	if wanted.Kind != "" {
		return ""
	}
	return fmt.Sprintf("; for another kind write KIND/NAME, such as jobset/%s", wanted.Name)
}

// namespaceHint says which other namespaces of some contexts have a Job of the wanted name. If none has one, it names
// the contexts, unless areAllContexts is set, and says how to name another kind.
func namespaceHint(ctx context.Context, f *fleet.Fleet, wanted read.Wanted, contexts []string, areAllContexts bool) string {
	namespaces, isComplete := wanted.NamespacesWith(ctx, f, contexts)
	// A Job of the namespace in use was created after the reading.
	namespaces = slices.DeleteFunc(namespaces, func(name string) bool { return name == wanted.Namespace })
	switch {
	case len(namespaces) == 1:
		return fmt.Sprintf("namespace %s has one: add -n %s", namespaces[0], namespaces[0])
	case len(namespaces) > 1:
		return fmt.Sprintf("namespaces %s have one: choose with -n", strings.Join(namespaces, ", "))
	case slices.ContainsFunc(f.Clusters(), func(c *fleet.Cluster) bool { return c.IsPartial && slices.Contains(contexts, c.Context) }):
		return "not all namespaces were read" + kindHint(wanted)
	case isComplete && areAllContexts:
		return "no other namespace has one" + kindHint(wanted)
	case isComplete:
		return fmt.Sprintf("no namespace on %s has one", inspect.And(contexts)) + kindHint(wanted)
	}
	return "if it is in another namespace, name that with -n" + kindHint(wanted)
}
