// Package manifest reads the objects that a user wants to dispatch from files, folders,
// URLs and standard input, as kubectl's -f does, and says where each of them stands.
//
// It knows nothing of clusters, nor of what is done with the objects: a kind that
// Kubernetes does not have is taken as it is.
package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Entry is an object of a file, before anything else is done with it.
type Entry struct {
	// Source is where it stands: the file, or "standard input", and the number of
	// the document in it if there are several, such as "jobs.yaml, document 2".
	Source string
	Object *unstructured.Unstructured
}

// Read reads the Jobs of files as kubectl's -f does: names of files or
// folders, patterns, URLs, or - for in. Unknown fields survive. Nothing is asked of
// any server. It is all or nothing: every document that is bad is told in one
// error, with line and column where the syntax is at fault.
//
// Objects of kinds that Kubernetes itself does not have are taken, too: whether they
// can be delegated is for the caller to find out.
//
// No two objects have the same kind, namespace and name, but one without a namespace
// may turn out to be the same as another: which namespace it gets is for the
// caller.
//
// When ctx is over, the error is its cause, at once, whoever is waited for.
func Read(ctx context.Context, filenames []string, in io.Reader) ([]Entry, error) {
	files, errs := readFiles(ctx, filenames, in)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var entries []Entry
	for _, f := range files {
		found, failed := f.entries()
		entries, errs = append(entries, found...), append(errs, failed...)
	}
	errs = append(errs, repeated(entries)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return entries, nil
}

// entries are the Jobs of a file, and whatever is wrong with it.
func (f file) entries() (entries []Entry, errs []error) {
	documents := f.documents()
	if len(documents) == 0 && !f.inFolder {
		return nil, []error{f.emptyError()}
	}
	for i, d := range documents {
		source := f.name
		if len(documents) > 1 {
			source = fmt.Sprintf("%s, document %d", f.name, i+1)
		}
		if d.err != nil {
			errs = append(errs, inSource(source, d.err))
			continue
		}
		found, failed := jobsOf(source, d.value, "", "")
		entries, errs = append(entries, found...), append(errs, failed...)
	}
	return entries, errs
}

// jobsOf are the Jobs and their like that a value is: itself, or all of a list. Items
// of a typed list need not repeat what the list says of them.
func jobsOf(source string, value any, apiVersion, kind string) ([]Entry, []error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, []error{fmt.Errorf("%s: found %s, not an object", source, whatIs(value))}
	}
	for field, inherited := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if _, ok := object[field]; !ok && inherited != "" {
			object[field] = inherited
		}
	}
	if err := checkType(object); err != nil {
		return nil, []error{fmt.Errorf("%s: %w", source, err)}
	}
	u := &unstructured.Unstructured{Object: object}
	gvk := u.GroupVersionKind()
	ofItems, isList := strings.CutSuffix(gvk.Kind, "List")
	_, hasItems := object["items"]
	switch itemKind := gvk.GroupVersion().WithKind(ofItems); {
	case isList && ofItems == "" && gvk.GroupVersion() == corev1.SchemeGroupVersion:
		return jobsOfList(source, object, "", "")
	case isList && mayBeDelegated(itemKind) && (hasItems || itemKind == delegation.Job().GroupVersionKind()):
		return jobsOfList(source, object, u.GetAPIVersion(), ofItems)
	case !mayBeDelegated(gvk):
		return nil, []error{fmt.Errorf("%s: cannot dispatch %s: of the built-in kinds, only Jobs of batch/v1. Apply it with kubectl", source, kindOf(u))}
	}
	if err := checkName(object, gvk.Kind); err != nil {
		return nil, []error{fmt.Errorf("%s: %w", source, err)}
	}
	return []Entry{{Source: source, Object: u}}, nil
}

// mayBeDelegated says whether objects of a kind can be delegated, as far as that is
// known without asking: of Kubernetes' own kinds, only Jobs can.
func mayBeDelegated(gvk schema.GroupVersionKind) bool {
	return gvk == delegation.Job().GroupVersionKind() || gvk.Kind != "" && !scheme.Scheme.IsGroupRegistered(gvk.Group)
}

func jobsOfList(source string, list map[string]any, apiVersion, kind string) (entries []Entry, errs []error) {
	items, ok := list["items"].([]any)
	if !ok || len(items) == 0 {
		return nil, []error{fmt.Errorf("%s: the list has no items", source)}
	}
	for i, item := range items {
		found, failed := jobsOf(fmt.Sprintf("%s, item %d", source, i+1), item, apiVersion, kind)
		entries, errs = append(entries, found...), append(errs, failed...)
	}
	return entries, errs
}

// checkType finds fault with the fields that say what an object is.
func checkType(object map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		switch v := object[field].(type) {
		case string:
			if v == "" {
				return fmt.Errorf("%s is empty", field)
			}
		case nil:
			return fmt.Errorf("%s is missing. A Job has apiVersion batch/v1 and kind Job", field)
		default:
			return fmt.Errorf("%s must be a string, not %s", field, whatIs(v))
		}
	}
	return nil
}

// checkName finds fault with what an object is known by.
func checkName(job map[string]any, kind string) error {
	metadata, ok := job["metadata"].(map[string]any)
	if !ok && job["metadata"] != nil {
		return fmt.Errorf("metadata must be an object, not %s", whatIs(job["metadata"]))
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if v := metadata[field]; v != nil {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("metadata.%s must be a string, not %s: put it into quotes", field, whatIs(v))
			}
		}
	}
	if name, _ := metadata["name"].(string); name != "" {
		return nil
	}
	why := "give it a name, so that running the same command again finds the same " + kind
	if generate, _ := metadata["generateName"].(string); generate != "" {
		return fmt.Errorf("the %s has generateName but no name; %s", kind, why)
	}
	return fmt.Errorf("the %s has no name; %s", kind, why)
}

// repeated tells of Jobs that are there more than once: only one of them could be
// created.
func repeated(entries []Entry) (errs []error) {
	type identity struct{ group, kind, namespace, name string }
	first := map[identity]string{}
	for _, m := range entries {
		gvk := m.Object.GroupVersionKind()
		key := identity{gvk.Group, gvk.Kind, m.Object.GetNamespace(), m.Object.GetName()}
		if source, ok := first[key]; ok {
			errs = append(errs, fmt.Errorf("%s: the %s %q is also in %s", m.Source, key.kind, strings.TrimPrefix(key.namespace+"/"+key.name, "/"), source))
			continue
		}
		first[key] = m.Source
	}
	return errs
}

// kindOf names an object that is no Job of ours.
func kindOf(u *unstructured.Unstructured) string {
	if u.GetKind() == "Job" {
		return fmt.Sprintf("a Job of %q", u.GetAPIVersion())
	}
	metadata, _ := u.Object["metadata"].(map[string]any)
	if name, _ := metadata["name"].(string); name != "" {
		return fmt.Sprintf("%q of kind %q (%s)", name, u.GetKind(), u.GetAPIVersion())
	}
	return fmt.Sprintf("an object of kind %q (%s)", u.GetKind(), u.GetAPIVersion())
}

// whatIs tells what a value is that is not what it has to be.
func whatIs(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		if len(v) > 20 {
			return "text"
		}
		return fmt.Sprintf("the text %q", v)
	default:
		return fmt.Sprint(v)
	}
}
