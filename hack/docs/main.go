// Command docs writes the generated files below docs/, and the roles next to it: a page and a man
// page for each command, and JSON Schemas of the output. With -check it writes nothing, and fails
// if the files are not up to date.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// directories are the directories that have only generated files.
var directories = []string{"commands", "man", "schema", rolesFolder}

func main() {
	dir := flag.String("dir", "docs", "directory of the documentation")
	check := flag.Bool("check", false, "only check that the files are up to date")
	flag.Parse()
	if err := run(*dir, *check); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(dir string, check bool) error {
	files, err := generate()
	if err != nil {
		return err
	}
	if check {
		return compare(dir, files)
	}
	for _, directory := range directories {
		if err := os.RemoveAll(filepath.Join(dir, directory)); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// compare returns an error with the files that are stale, missing, or no longer generated.
func compare(dir string, files map[string][]byte) error {
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if found, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(found, files[name]) {
			stale = append(stale, name)
		}
	}
	for _, directory := range directories {
		entries, err := os.ReadDir(filepath.Join(dir, directory))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if name := strings.TrimSuffix(directory, "/") + "/" + e.Name(); files[name] == nil {
				stale = append(stale, name)
			}
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("%s of %s are not up to date. Run make generate", strings.Join(stale, ", "), dir)
	}
	return nil
}

// generate returns all files by their names below the directory.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	root := rootCommand()
	if err := pages(root, files); err != nil {
		return nil, err
	}
	if err := manPages(rootCommand(), files); err != nil {
		return nil, err
	}
	r, err := reflector()
	if err != nil {
		return nil, err
	}
	for _, document := range []any{
		&inspect.OwnerList{}, &inspect.Trace{}, &inspect.TraceList{}, &inspect.FindingList{}, &inspect.FindingEvent{}, &inspect.DoctorReport{}, &inspect.ProbeReport{}, &inspect.KindList{}, &queues.QueueList{}, &queues.PendingList{}, &inspect.HistoryList{}, &inspect.CodeList{}, &dispatch.Event{},
	} {
		schema := r.Reflect(document)
		keepID(schema)
		for _, t := range nullables() {
			nullable(t, schema)
		}
		if _, ok := document.(*dispatch.Event); ok {
			unread(schema)
		}
		describeType(schema)
		if missing := undescribed(schema); len(missing) > 0 {
			return nil, fmt.Errorf("fields without a doc comment, which schemas take their descriptions from: %s", strings.Join(missing, ", "))
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return nil, err
		}
		files["schema/"+schemaName(document)+".json"] = append(text, '\n')
	}
	files["codes.md"] = codesPage()
	return files, roles(files)
}

// rootCommand returns the tree of commands, as kubectl calls it.
func rootCommand() *cobra.Command {
	root := cmd.NewRootCommand(util.Environment{
		Program:   "kubectl-jobs_managedby",
		LookupEnv: func(string) (string, bool) { return "", false },
	})
	// The default is in the home directory of the user who generates the pages.
	root.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	for _, c := range root.Commands() {
		c.Long = indentTables(c.Long)
	}
	return root
}

// indentTables indents the tables of a help text by four columns, so that Markdown keeps their lines.
// Help has two.
func indentTables(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") {
			paragraphs[i] = "  " + strings.ReplaceAll(p, "\n", "\n  ")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// schemaName returns a document's kind in lower case.
func schemaName(document any) string {
	if _, ok := document.(*dispatch.Event); ok {
		return strings.ToLower(dispatch.EventKind)
	}
	return strings.ToLower(reflect.TypeOf(document).Elem().Name())
}

// unread allows an empty status of an event: some events come before the status is read.
func unread(schema *jsonschema.Schema) {
	if status, ok := schema.Definitions["Event"].Properties.Get("status"); ok {
		status.Enum = append(status.Enum, "")
		if texts, ok := status.Extras["enumDescriptions"].([]string); ok {
			status.Extras = map[string]any{"enumDescriptions": append(slices.Clone(texts), "The status was not read yet.")}
		}
	}
}

// nullables returns the types with fields that are null if their values are unknown.
func nullables() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[inspect.Job](), reflect.TypeFor[inspect.Trace](), reflect.TypeFor[inspect.TraceMirror](),
		reflect.TypeFor[inspect.Hop](), reflect.TypeFor[inspect.Dispatcher](), reflect.TypeFor[dispatch.Event](),
		reflect.TypeFor[inspect.ServedKind](), reflect.TypeFor[inspect.Placement](), reflect.TypeFor[inspect.Holder](),
		reflect.TypeFor[inspect.Finding](), reflect.TypeFor[queues.QueueQuota](), reflect.TypeFor[queues.ClusterState](), reflect.TypeFor[queues.WorkersQuota](),
		reflect.TypeFor[inspect.HistoryList](), reflect.TypeFor[inspect.PastJob](), reflect.TypeFor[inspect.HistorySum](), reflect.TypeFor[inspect.ContextRetention](), reflect.TypeFor[inspect.Starts](),
		reflect.TypeFor[queues.PendingJob](),
		reflect.TypeFor[inspect.ProbeStep](),
	}
}

// pages adds a page for a command and all below it.
func pages(c *cobra.Command, files map[string][]byte) error {
	c.DisableAutoGenTag = true
	c.InitDefaultHelpFlag()
	page := bytes.NewBufferString("<!-- Written by go run ./hack/docs from pkg/cmd; do not edit. -->\n\n")
	if err := doc.GenMarkdownCustom(c, page, func(link string) string { return link }); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "_") + ".md"
	files["commands/"+name] = page.Bytes()
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := pages(sub, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// enums returns the types with a few values only.
func enums() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[delegation.Status]():        enum(delegation.Statuses()),
		reflect.TypeFor[delegation.Change]():        enum(delegation.Changes()),
		reflect.TypeFor[kubecontext.Code]():         enum(kubecontext.Codes()),
		reflect.TypeFor[inspect.Relation]():         enum(inspect.Relations()),
		reflect.TypeFor[inspect.Verdict]():          enum(inspect.Verdicts()),
		reflect.TypeFor[inspect.PlacementReason]():  enum(inspect.PlacementReasons()),
		reflect.TypeFor[inspect.ClusterRole]():      enum(inspect.ClusterRoles()),
		reflect.TypeFor[inspect.JobState]():         enum(inspect.JobStates()),
		reflect.TypeFor[inspect.JobReason]():        enum(inspect.JobReasons()),
		reflect.TypeFor[kueue.WaitReason]():         enum(kueue.WaitReasons()),
		reflect.TypeFor[inspect.State]():            enum(inspect.States()),
		reflect.TypeFor[inspect.PositionSource]():   enum(inspect.PositionSources()),
		reflect.TypeFor[queues.QueueKind]():         enum(queues.QueueKinds()),
		reflect.TypeFor[inspect.Result]():           enum(inspect.Results()),
		reflect.TypeFor[inspect.Health]():           enum(inspect.Healths()),
		reflect.TypeFor[inspect.Severity]():         enum(inspect.Severities()),
		reflect.TypeFor[inspect.FindingEventType](): enum(inspect.FindingEventTypes()),
		reflect.TypeFor[dispatch.EventType]():       enum(dispatch.EventTypes()),
	}
}

// module is the import path of this program's module.
const module = "github.com/jobmanagedby/kubectl-jobmanagedby"

// reflector returns a reflector that makes schemas of our types, with the doc comments of their
// fields as descriptions. Fields are only ever added, so unknown ones are allowed. It has to run
// at the root of the repository.
func reflector() (*jsonschema.Reflector, error) {
	known, explained := enums(), meanings{}
	for t, values := range known {
		if err := explained.explain(t, values); err != nil {
			return nil, err
		}
	}
	r := &jsonschema.Reflector{
		AllowAdditionalProperties: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if values, ok := known[t]; ok {
				// The reflector adds the description of each field.
				own := *values
				return &own
			}
			if t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[metav1.MicroTime]() {
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			return nil
		},
	}
	err := r.AddGoComments(module, "pkg")
	return r, err
}

// describeType adds descriptions to the fields that every document has.
func describeType(schema *jsonschema.Schema) {
	for name, definition := range schema.Definitions {
		kind := name
		if schema.Ref == "#/$defs/Event" && name == "Event" {
			// The type has a shorter name than the kind.
			kind = dispatch.EventKind
		}
		for field, description := range map[string]string{
			"apiVersion": "APIVersion is the version of this schema.", "kind": "Kind is the kind of the document, " + kind + ".",
		} {
			if definition.Properties == nil {
				continue
			}
			if property, ok := definition.Properties.Get(field); ok && property.Description == "" {
				property.Description = description
			}
		}
	}
}

// undescribed returns the fields of a schema that have no description.
func undescribed(schema *jsonschema.Schema) []string {
	var fields []string
	for name, definition := range schema.Definitions {
		if definition.Properties == nil {
			continue
		}
		for p := definition.Properties.Oldest(); p != nil; p = p.Next() {
			property := p.Value
			if len(property.OneOf) > 0 {
				property = property.OneOf[0]
			}
			if property.Description == "" && p.Value.Description == "" {
				fields = append(fields, name+"."+p.Key)
			}
		}
	}
	slices.Sort(fields)
	return fields
}

// nullable allows null for the fields of a type that are null if their values are unknown:
// pointers, slices and times.
func nullable(t reflect.Type, schema *jsonschema.Schema) {
	definition, ok := schema.Definitions[t.Name()]
	if !ok {
		return
	}
	properties := definition.Properties
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if kind := f.Type.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map && f.Type != reflect.TypeFor[metav1.Time]() {
			continue
		}
		if property, ok := properties.Get(name); ok {
			properties.Set(name, &jsonschema.Schema{OneOf: []*jsonschema.Schema{property, {Type: "null"}}})
		}
	}
}

func enum[S ~string](values []S) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// keepID removes the subpackage of pkg/inspect from the $id of a schema: moving a type must not
// change a published schema.
func keepID(schema *jsonschema.Schema) {
	schema.ID = jsonschema.ID(strings.Replace(string(schema.ID), "/pkg/inspect/queues/", "/pkg/inspect/", 1))
}
