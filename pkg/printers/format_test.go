package printers_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func newFormat(t *testing.T, output string) *printers.Format {
	t.Helper()
	f, err := printers.NewFormat(nil, output, false)
	assert.NilError(t, err)
	return f
}

func TestNewFormat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "template")
	assert.NilError(t, os.WriteFile(file, []byte("NAME\n.name\n"), 0o600))
	// is has the properties of a format.
	type is struct{ table, wide, document, perJob bool }
	for output, want := range map[string]is{
		"":                              {table: true},
		"wide":                          {table: true, wide: true},
		"json":                          {document: true},
		"yaml":                          {document: true},
		"kyaml":                         {document: true},
		"name":                          {perJob: true},
		"custom-columns=NAME:.name":     {perJob: true},
		"custom-columns-file=" + file:   {perJob: true},
		"jsonpath={.items}":             {},
		"jsonpath={.items[?(@.a==1)]}":  {},
		"jsonpath-as-json={.items}":     {},
		"jsonpath-file=" + file:         {},
		"go-template={{.items}}":        {},
		"go-template-file=" + file:      {},
		"template={{.items}}":           {},
		"custom-columns=A:.a,B:.b[0].c": {perJob: true},
	} {
		t.Run(output, func(t *testing.T) {
			f := newFormat(t, output)
			assert.Equal(t, is{f.IsTable(), f.Wide(), f.IsDocument(), f.IsPerJob()}, want)
			assert.Equal(t, f.IncludesErrors(), want.document)
		})
	}
}

func TestNewFormatErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for output, want := range map[string]string{
		"xml":                            `unknown output format "xml"; choose one of wide, json, yaml, kyaml, name, custom-columns=,`,
		"JSON":                           `unknown output format "JSON"`,
		"xml={.items}":                   `unknown output format "xml={.items}"`,
		"jsonpath={.items":               "unclosed action",
		"jsonpath":                       "no template given",
		"jsonpath=":                      "no template given",
		"jsonpath-file=" + missing:       missing,
		"go-template":                    "no template given",
		"go-template={{.items":           "unclosed action",
		"go-template-file=" + missing:    missing,
		"custom-columns":                 "no custom columns given",
		"custom-columns=":                "no custom columns given",
		"custom-columns=NAME":            "expected <header>:<json-path-expr>",
		"custom-columns=NAME:{.a}b":      "unexpected path string",
		"custom-columns-file=" + missing: missing,
	} {
		t.Run(output, func(t *testing.T) {
			f, err := printers.NewFormat(nil, output, false)
			assert.ErrorContains(t, err, want)
			assert.ErrorContains(t, err, "output format ")
			assert.Assert(t, cmp.Nil(f))
		})
	}
}

// TestFormats: every listed format is accepted.
func TestFormats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "template")
	assert.NilError(t, os.WriteFile(file, []byte("A\n.a\n"), 0o600))
	for _, format := range printers.Formats() {
		switch {
		case strings.HasSuffix(format, "-file="):
			format += file
		case strings.HasSuffix(format, "="):
			format += "A:.a"
		}
		t.Run(format, func(t *testing.T) { newFormat(t, format) })
	}
}

func TestPrintList(t *testing.T) {
	hostileList := listOf(newJob("job-"+evil, delegation.Owner("owner-"+evil), delegation.Running))
	for _, tt := range []struct {
		name, output string
		list         *inspect.OwnerList
	}{
		{"list.json", "json", everyStatus()},
		{"list.yaml", "yaml", everyStatus()},
		{"list.kyaml", "kyaml", everyStatus()},
		{"list-errors.json", "json", severalContexts()},
		{"list-empty.json", "json", inspect.NewOwnerList()},
		{"list-empty.yaml", "yaml", inspect.NewOwnerList()},
		{"list-hostile.json", "json", hostileList},
		{"list-hostile.yaml", "yaml", hostileList},
		{"list-hostile.kyaml", "kyaml", hostileList},
		{"list-jsonpath.txt", `jsonpath={range .items[*]}{.managedBy}{"\t"}{.counts}{"\t"}{.jobs[*].startTime}{"\n"}{end}`, everyStatus()},
		{"list-jsonpath-as-json.txt", "jsonpath-as-json={.items[*].jobs[*].mirrors[0]}", listOf(*everyStatus().Items[0].Jobs[0])},
		{"list-go-template.txt", `go-template={{range .items}}{{range .jobs}}{{.name}} {{.startTime}} {{.completions}}{{"\n"}}{{end}}{{end}}`, everyStatus()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := printed(t, func(out *bytes.Buffer) error { return newFormat(t, tt.output).PrintObject(out, tt.list) })
			golden.Assert(t, visible(out), "format-"+tt.name)
		})
	}
}

func TestPrintListDoesNotChangeList(t *testing.T) {
	list := everyStatus()
	for _, output := range []string{"json", "yaml", "kyaml", "jsonpath={.items}", "go-template={{.items}}"} {
		assert.NilError(t, newFormat(t, output).PrintObject(&bytes.Buffer{}, list))
		assert.DeepEqual(t, list, everyStatus())
	}
}

func TestPrintReportsWriteErrors(t *testing.T) {
	list := everyStatus()
	for _, output := range []string{"json", "yaml"} {
		assert.ErrorIs(t, newFormat(t, output).PrintObject(&full{}, list), errFull, output)
		assert.ErrorIs(t, newFormat(t, output).PrintJobs(&full{}, list.Items[0].Jobs), errFull, output)
	}
	assert.ErrorIs(t, newFormat(t, "name").PrintJobs(&full{}, list.Items[0].Jobs), errFull)
	// kubectl's templates keep only the text of an error.
	for _, output := range []string{"jsonpath={.items}", "go-template={{.items}}"} {
		assert.ErrorContains(t, newFormat(t, output).PrintObject(&full{}, list), errFull.Error(), output)
	}
}

// TestEveryFormatIsVisible: no format has characters that a terminal interprets, whatever
// clusters send. Documents keep the values. Templates keep line breaks and tabs, and the user's
// own text.
func TestEveryFormatIsVisible(t *testing.T) {
	const hidden = "a\x1b[2J\u009b31m\x7f\u202eb\u2066\u200b\U000e0001\ufeff\u2028"
	list := listOf(newJob("job-"+hidden, delegation.Owner(hidden+"\nnext\tcell"), delegation.Running))
	list.Items[0].Counts = map[delegation.Status]int{delegation.Status("count-" + hidden): 1}
	for _, output := range []string{
		"json", "yaml", "kyaml", "jsonpath={.items[*].managedBy}", "jsonpath={.items}", "jsonpath-as-json={.items}",
		"jsonpath={.items[*].counts}", "go-template={{range .items}}{{.managedBy}}{{.counts}}{{range $k, $v := .counts}}{{$k}}{{end}}{{end}}", "custom-columns=A:.name,B:.managedBy",
	} {
		t.Run(output, func(t *testing.T) {
			out := printed(t, func(out *bytes.Buffer) error {
				if strings.HasPrefix(output, "custom-columns") {
					return newFormat(t, output).PrintJobs(out, list.Items[0].Jobs)
				}
				return newFormat(t, output).PrintObject(out, list)
			})
			isHidden := func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }
			assert.Assert(t, !strings.ContainsFunc(out, isHidden), "%+q", out)
			var read struct{ Items []struct{ ManagedBy string } }
			switch output {
			case "json":
				assert.NilError(t, json.Unmarshal([]byte(out), &read))
			case "yaml", "kyaml":
				assert.NilError(t, yaml.Unmarshal([]byte(out), &read))
			case "jsonpath-as-json={.items}":
				assert.NilError(t, json.Unmarshal([]byte(`{"items":`+strings.TrimSpace(out)[1:len(strings.TrimSpace(out))-1]+`}`), &read))
			default:
				return
			}
			assert.Equal(t, read.Items[0].ManagedBy, hidden+"\nnext\tcell")
		})
	}
	for _, output := range []string{`jsonpath={.items[*].managedBy}{"\u001b[0m"}`, "go-template={{range .items}}{{.managedBy}}{{end}}{{\"\\x1b[0m\"}}"} {
		out := printed(t, func(out *bytes.Buffer) error { return newFormat(t, output).PrintObject(out, list) })
		assert.Assert(t, strings.HasSuffix(out, "\nnext\tcell\x1b[0m") && strings.Count(out, "\x1b") == 1, "%+q", out)
	}
}
