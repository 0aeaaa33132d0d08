// Package printers prints the model: tables for people, documents for programs. It is the only
// package that knows colours, and it writes only to the writers that it is given.
package printers

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"

	// Before package get, which would have translations read.
	_ "github.com/jobmanagedby/kubectl-jobmanagedby/internal/untranslated"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Format is a valid output format that a user chose with -o.
type Format struct {
	// name is "" for the table, "wide", "name", Markdown, or the name of a format of kubectl's
	// own printers.
	name    string
	printer printers.ResourcePrinter
}

// Formats returns the values of -o of commands that print tables. After an equals sign comes a
// template.
func Formats() []string { return append([]string{Markdown}, objectFormats()...) }

// objectFormats returns the values of -o of commands that print Kubernetes objects.
func objectFormats() []string {
	return append([]string{"wide", "json", "yaml", "kyaml", "name", "custom-columns=", "custom-columns-file="},
		"go-template=", "go-template-file=", "jsonpath=", "jsonpath-as-json=", "jsonpath-file=")
}

// NewFormat checks a value of -o and parses its template, if any. more are the command's formats
// that are not in Formats. Columns may have paths as in kubectl get, such as .metadata.name,
// though printed values have no metadata. rows is the type of the values that columns are for; nil if any
// field may exist.
func NewFormat(rows reflect.Type, output string, noHeaders bool, more ...string) (*Format, error) {
	f, err := newFormat(output, noHeaders, append(more, Markdown), refuseObjectPaths)
	if err != nil {
		return nil, err
	}
	if columns, ok := f.printer.(*get.CustomColumnsPrinter); ok {
		if err := flattenColumns(columns, rows); err != nil {
			return nil, fmt.Errorf("output format %q: %w", output, err)
		}
	}
	return f, nil
}

// NewObjectFormat is NewFormat for Kubernetes objects, which have metadata.
func NewObjectFormat(output string, noHeaders bool) (*Format, error) {
	return newFormat(output, noHeaders, nil, func(string, string) error { return nil })
}

// newFormat returns the format for a value of -o. check gets the name of the format and its template.
func newFormat(output string, noHeaders bool, more []string, check func(name, template string) error) (*Format, error) {
	if output == "" || output == "wide" || output == "name" || slices.Contains(more, output) {
		return &Format{name: output}, nil
	}
	name, template, err := readTemplate(output)
	if err == nil {
		err = check(name, template)
	}
	if err != nil {
		return nil, fmt.Errorf("output format %q: %w", output, err)
	}
	inline := name
	if template != "" {
		inline += "=" + template
	}
	f := &Format{name: strings.TrimSuffix(name, fileSuffix)}
	for _, toPrinter := range []func(string) (printers.ResourcePrinter, error){
		documentPrinter, genericclioptions.NewKubeTemplatePrintFlags().ToPrinter, columnsPrinter,
	} {
		f.printer, err = toPrinter(inline)
		if genericclioptions.IsNoCompatiblePrinterError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("output format %q: %w", output, err)
		}
		if columns, ok := f.printer.(*get.CustomColumnsPrinter); ok {
			columns.NoHeaders = noHeaders
		}
		if f.name == jsonPathAsJSON {
			f.printer = visibleJSON{f.printer}
		}
		return f, nil
	}
	return nil, UnknownFormat(output, append(objectFormats(), more...))
}

// UnknownFormat returns the error for a value of -o that is none of a command's formats.
func UnknownFormat(output string, formats []string) error {
	return fmt.Errorf("unknown output format %q; choose one of %s", output, strings.Join(formats, ", "))
}

// Is reports whether the format is the named one. It is for formats that only some commands have.
func (f *Format) Is(name string) bool { return f.name == name }

func documentPrinter(output string) (printers.ResourcePrinter, error) {
	switch output {
	case "json":
		return visibleJSON{&printers.JSONPrinter{}}, nil
	case "yaml":
		return &yamlPrinter{}, nil
	case "kyaml":
		return printers.ResourcePrinterFunc(func(o runtime.Object, w io.Writer) error { return escape.KYAML(o, w) }), nil
	}
	return nil, genericclioptions.NoCompatiblePrinterError{OutputFormat: &output}
}

// RefuseWatch returns an error if a watch cannot use the format. flag is the given flag that watches, "" if none is.
func (f *Format) RefuseWatch(flag string) error {
	if flag != "" && f != nil && f.name == Markdown {
		return fmt.Errorf("-o markdown cannot be combined with --%s: a table in Markdown does not change", flag)
	}
	return nil
}

// IsTable reports whether the format is a table for people: the usual one, the wide one, or one
// in Markdown.
func (f *Format) IsTable() bool { return f.name == "" || f.name == "wide" || f.name == Markdown }

// Wide reports whether the format is the wide table.
func (f *Format) Wide() bool { return f.name == "wide" }

// IsDocument reports whether the format is a whole document, JSON or YAML.
func (f *Format) IsDocument() bool { return slices.Contains([]string{"json", "yaml", "kyaml"}, f.name) }

// IncludesErrors reports whether output in this format includes the contexts that could not be read.
// If not, the caller has to report them.
func (f *Format) IncludesErrors() bool { return f.IsDocument() }

// OmitsUnchecked reports whether output in this format leaves out what could not be read or checked, so that the
// caller has to report it. Tables without titles have only rows. A command answers for formats of its own.
func (f *Format) OmitsUnchecked(noHeaders bool) bool {
	return !f.IncludesErrors() && (!f.IsTable() || noHeaders)
}

// IsPerJob reports whether the format prints each Job by itself, without groups.
func (f *Format) IsPerJob() bool {
	return f.name == "name" || f.name == customColumns
}

// PrintObject writes an object as a whole, as a document or through a template.
func (f *Format) PrintObject(w io.Writer, o runtime.Object) error {
	return f.printObject(w, o)
}

// PrintJobs writes Jobs one after the other, in a format other than a table.
func (f *Format) PrintJobs(w io.Writer, jobs []*inspect.Job) error {
	if f.name == "name" {
		return printNames(w, jobs, namedJob)
	}
	if !f.IsPerJob() {
		for _, j := range jobs {
			if err := f.printObject(w, j); err != nil {
				return err
			}
		}
		return nil
	}
	return printColumns(f, w, jobs)
}

// PrintTraces writes traces one after the other, in a format that IsPerJob.
func (f *Format) PrintTraces(w io.Writer, traces []inspect.Trace) error {
	if f.name != "name" {
		return printColumns(f, w, pointers(traces))
	}
	return printNames(w, pointers(traces), func(t *inspect.Trace) namedObject {
		if t.Origin == nil {
			return namedJob(&t.Mirrors[0].Job)
		}
		return namedJob(t.Origin)
	})
}

// printColumns writes objects in columns that the user chose.
func printColumns[T any](f *Format, w io.Writer, objects []*T) error {
	list := &unstructured.UnstructuredList{}
	for _, o := range objects {
		u, err := unstructuredOf(o)
		if err != nil {
			return err
		}
		dropNulls(u.Object)
		replaceTexts(u.Object, Safe)
		list.Items = append(list.Items, *u)
	}
	return f.printer.PrintObj(list, w)
}

func (f *Format) printObject(w io.Writer, o runtime.Object) error {
	if list, isOwners := o.(*inspect.OwnerList); isOwners && f.name == "json" {
		return writeOwners(escape.JSONWriter(w), list)
	}
	if f.IsDocument() {
		return f.printer.PrintObj(o, w)
	}
	// Templates refer to fields by their names in JSON.
	u, err := unstructuredOf(o)
	if err != nil {
		return err
	}
	dropNulls(u.Object)
	if f.name != jsonPathAsJSON {
		replaceTexts(u.Object, SafeLines)
	}
	return f.printer.PrintObj(u, w)
}

// dropNulls removes fields that are null, because templates would print "<nil>" and not what
// kubectl prints for an absent field.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if field == nil {
				delete(v, key)
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

func unstructuredOf(o any) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("cannot convert for printing: %w", err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// PrintEvent writes a change of a Job as a document of kind WatchEvent, in the form of the API's
// own watch events.
func (f *Format) PrintEvent(w io.Writer, event inspect.ChangeType, j *inspect.Job) error {
	job, err := unstructuredOf(j)
	if err != nil {
		return err
	}
	return f.printer.PrintObj(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": inspect.APIVersion, "kind": "WatchEvent",
		"type": string(event), "object": job.Object,
	}}, w)
}

// PrintFindings writes findings one after the other, in a format that IsPerJob:
// the names of their objects, or columns.
func (f *Format) PrintFindings(w io.Writer, findings []inspect.Finding) error {
	if f.name != "name" {
		return printColumns(f, w, pointers(findings))
	}
	return printNames(w, pointers(findings), func(f *inspect.Finding) namedObject {
		return namedObject{context: f.Context, namespace: f.Namespace, kind: groupKind(f.APIVersion, f.Kind), name: f.Name}
	})
}

// namedObject identifies an object for -o name.
type namedObject struct {
	context, namespace, uid string
	// kind is empty for what is no API object, such as a context.
	kind schema.GroupKind
	name string
}

// printNames writes the name of each object once, on a line of its own, as kubectl does: objects of the same
// name in several namespaces or contexts have a line each. So has each manifest, which may have a generateName.
func printNames[T any](w io.Writer, items []*T, object func(*T) namedObject) error {
	seen := map[namedObject]bool{}
	for _, item := range items {
		o := object(item)
		if isNew := o.context == "" && o.uid == ""; seen[o] && !isNew {
			continue
		}
		seen[o] = true
		if err := writeLines(w, o.text()); err != nil {
			return err
		}
	}
	return nil
}

// text returns what kubectl prints for -o name, such as "job.batch/pi".
func (o namedObject) text() string {
	if o.kind.Empty() {
		return absentIfEmpty(Safe(o.name))
	}
	return Safe(strings.ToLower(o.kind.String()) + "/" + o.name)
}

// namedJob identifies a Job.
func namedJob(j *inspect.Job) namedObject {
	return namedObject{j.Context, j.Namespace, j.UID, groupKind(j.APIVersion, j.Kind), j.Name}
}

// groupKind returns a kind without its version.
func groupKind(apiVersion, kind string) schema.GroupKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
}
