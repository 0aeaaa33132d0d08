package printers

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/escape"
)

// jsonPathAsJSON is the one template whose output is a document.
const jsonPathAsJSON = "jsonpath-as-json"

// visibleJSON is a printer of JSON with only visible characters.
type visibleJSON struct{ printers.ResourcePrinter }

// PrintObj writes an object.
func (p visibleJSON) PrintObj(o runtime.Object, w io.Writer) error {
	return p.ResourcePrinter.PrintObj(o, escape.JSONWriter(w))
}

// yamlPrinter is kubectl's printer of YAML, with only visible characters.
type yamlPrinter struct{ printed int }

// PrintObj writes an object, after a separator if it is not the first.
func (p *yamlPrinter) PrintObj(o runtime.Object, w io.Writer) error {
	text, err := escape.YAML(o)
	if err != nil {
		return err
	}
	p.printed++
	if p.printed > 1 {
		if err := writeAll(w, "---\n"); err != nil {
			return err
		}
	}
	return writeAll(w, string(text))
}

// replaceTexts replaces every text in an object, also the names of fields, because a template
// prints them unchanged, on a terminal too. Custom columns are a table, so their texts become
// Safe. Those of other templates become SafeLines, because templates print lines. The text of the
// template itself stays as the user wrote it.
func replaceTexts(value any, by func(string) string) {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if text, isText := field.(string); isText {
				field = by(text)
			}
			replaceTexts(field, by)
			if name := by(key); name != key {
				delete(v, key)
				v[name] = field
				continue
			}
			v[key] = field
		}
	case []any:
		for i, item := range v {
			if text, isText := item.(string); isText {
				v[i] = by(text)
			}
			replaceTexts(item, by)
		}
	}
}
