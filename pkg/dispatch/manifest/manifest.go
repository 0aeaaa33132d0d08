// Package manifest reads the objects to dispatch from files, directories, URLs and standard
// input, as kubectl's -f does, and records the source of each.
//
// It knows neither clusters nor what happens to the objects. Kinds that are not built into
// Kubernetes are accepted unchecked.
package manifest

import (
	"cmp"
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

// Entry is an object from a file.
type Entry struct {
	// Source is the file, or "standard input". If the file has several documents, it includes the
	// number of the document: "jobs.yaml, document 2".
	Source string
	Object *unstructured.Unstructured
}

// Read reads Jobs as kubectl's -f does: from files, directories, patterns, URLs, or - for in. It
// keeps unknown fields and sends no request to any cluster. If any document is invalid, it
// returns only an error, which lists all invalid documents, with line and column for syntax
// errors.
//
// Objects of kinds that are not built into Kubernetes are returned, too. The caller has to check
// whether they can be delegated.
//
// No two objects have the same group, kind, namespace and name. The caller has to compare them
// again after it has chosen a namespace for objects without one.
//
// Each object has a name, so that running a command again finds the same object.
//
// When ctx is done, Read returns its cause immediately, even while it waits for input.
func Read(ctx context.Context, filenames []string, in io.Reader) ([]Entry, error) {
	whatever := func(*unstructured.Unstructured) bool { return true }
	return parser{accepts: mayBeDelegated, isWanted: whatever}.read(ctx, filenames, in, func(m Entry) error {
		if m.Object.GetName() != "" {
			return nil
		}
		kind := m.Object.GetKind()
		return fmt.Errorf("%s: the %s has generateName but no name; %s", m.Source, kind, giveName(kind))
	})
}

// ReadAll is Read, except that it returns objects of all kinds, and that they may have generateName
// instead of a name, as for kubectl create. Objects that are not wanted may have neither, and may
// occur more than once.
func ReadAll(ctx context.Context, filenames []string, in io.Reader, isWanted func(*unstructured.Unstructured) bool) ([]Entry, error) {
	all := func(schema.GroupVersionKind) bool { return true }
	return parser{accepts: all, isWanted: isWanted}.read(ctx, filenames, in, func(Entry) error { return nil })
}

// NamespaceOf returns the namespace to create an object in: its own, or else the default. It returns an
// error if the object has another namespace than the one that the user gave, "" for none.
func NamespaceOf(u *unstructured.Unstructured, given, byDefault string) (string, error) {
	switch own := u.GetNamespace(); {
	case own == "":
		return byDefault, nil
	case given != "" && given != own:
		name := cmp.Or(u.GetName(), u.GetGenerateName())
		return "", fmt.Errorf("%s %q has namespace %s, not %s. Remove it from the file, or omit -n", u.GetKind(), name, own, given)
	default:
		return own, nil
	}
}

// parser finds objects of the kinds that it accepts in files.
type parser struct {
	accepts  func(schema.GroupVersionKind) bool
	isWanted func(*unstructured.Unstructured) bool
}

func (p parser) read(ctx context.Context, filenames []string, in io.Reader, check func(Entry) error) ([]Entry, error) {
	files, errs := readFiles(ctx, filenames, in)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var entries []Entry
	for _, f := range files {
		found, failed := p.entries(f)
		for _, m := range found {
			if err := check(m); err != nil {
				failed = append(failed, err)
			}
		}
		entries, errs = append(entries, found...), append(errs, failed...)
	}
	errs = append(errs, p.duplicates(entries)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return entries, nil
}

// entries returns the objects in a file, and all errors.
func (p parser) entries(f file) (entries []Entry, errs []error) {
	documents := f.documents()
	if len(documents) == 0 && !f.inDirectory {
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
		found, failed := p.objects(source, d.value, "", "")
		entries, errs = append(entries, found...), append(errs, failed...)
	}
	return entries, errs
}

// objects returns the objects in a value: the value itself, or the items of a list. Items of a
// typed list need no apiVersion and kind.
func (p parser) objects(source string, value any, apiVersion, kind string) ([]Entry, []error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, []error{fmt.Errorf("%s: found %s, not an object", source, describe(value))}
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
		return p.items(source, object, "", "")
	case isList && p.accepts(itemKind) && (hasItems || itemKind == delegation.Job().GroupVersionKind()):
		return p.items(source, object, u.GetAPIVersion(), ofItems)
	case !p.accepts(gvk):
		return nil, []error{fmt.Errorf("%s: %s cannot be delegated: of the built-in kinds, only Jobs of batch/v1 can", source, kindOf(u))}
	}
	return p.named(source, u)
}

// named returns an object, which needs a name if it is wanted.
func (p parser) named(source string, u *unstructured.Unstructured) ([]Entry, []error) {
	if err := checkName(u.Object, u.GetKind()); err != nil && p.isWanted(u) {
		return nil, []error{fmt.Errorf("%s: %w", source, err)}
	}
	return []Entry{{Source: source, Object: u}}, nil
}

// mayBeDelegated reports whether objects of a kind may be delegable, as far as that is known
// without a cluster. Of the built-in kinds, only Job is.
func mayBeDelegated(gvk schema.GroupVersionKind) bool {
	return gvk == delegation.Job().GroupVersionKind() || gvk.Kind != "" && !scheme.Scheme.IsGroupRegistered(gvk.Group)
}

// items returns the objects in a list.
func (p parser) items(source string, list map[string]any, apiVersion, kind string) (entries []Entry, errs []error) {
	items, ok := list["items"].([]any)
	if !ok || len(items) == 0 {
		return nil, []error{fmt.Errorf("%s: the list has no items", source)}
	}
	for i, item := range items {
		found, failed := p.objects(fmt.Sprintf("%s, item %d", source, i+1), item, apiVersion, kind)
		entries, errs = append(entries, found...), append(errs, failed...)
	}
	return entries, errs
}

// checkType validates apiVersion and kind.
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
			return fmt.Errorf("%s must be a string, not %s", field, describe(v))
		}
	}
	return nil
}

// checkName validates the namespace and the name, which may be generated.
func checkName(job map[string]any, kind string) error {
	metadata, ok := job["metadata"].(map[string]any)
	if !ok && job["metadata"] != nil {
		return fmt.Errorf("metadata must be an object, not %s", describe(job["metadata"]))
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if v := metadata[field]; v != nil {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("metadata.%s must be a string, not %s: put it into quotes", field, describe(v))
			}
		}
	}
	for _, field := range []string{"name", "generateName"} {
		if name, _ := metadata[field].(string); name != "" {
			return nil
		}
	}
	return fmt.Errorf("the %s has no name; %s", kind, giveName(kind))
}

func giveName(kind string) string {
	return "give it a name, so that running the same command again finds the same " + kind
}

// duplicates returns errors for wanted objects that occur more than once. Only one of them could be
// created.
func (p parser) duplicates(entries []Entry) (errs []error) {
	type identity struct{ group, kind, namespace, name string }
	first := map[identity]string{}
	for _, m := range entries {
		if m.Object.GetName() == "" || !p.isWanted(m.Object) {
			continue
		}
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

// kindOf describes an object that is not a Job of batch/v1.
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

// describe describes a value of a wrong type.
func describe(value any) string {
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
