// Package style tests the English of all texts for people: documentation, help, the texts of
// codes, and the output of commands. CONTRIBUTING.md describes how we write.
package style

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const root = "../.."

// phrases must not appear in these texts. The values are better ones.
var phrases = map[string]string{
	"is told":           "is reported, shows, says",
	"are told":          "are reported, show, say",
	"not told":          "not reported",
	"tells of":          "describes, reports",
	"to be seen":        "appears, is shown",
	"looked at":         "read, checked",
	"gone on with":      "resumed",
	"goes on":           "continues",
	"taken up":          "picked up",
	"takes up":          "picks up",
	"whose turn":        "which controller must act next",
	"whoever":           "users who, the component",
	"over there":        "on the other cluster",
	"anew":              "again",
	"wholly":            "completely",
	"in place of":       "instead of",
	"at the least":      "at least",
	"hangs on":          "depends on",
	"leads to":          "points to",
	"is put out":        "is evicted",
	"taken back":        "withdrawn, reclaimed",
	"in step":           "in sync",
	"typing mistake":    "typo",
	"beside":            "next to, besides",
	"in the state that": "with the status",
	"as it stands":      "now",
	"such as are":       "that are",
}

// ownPhrases must not appear in our own literals and pages. Golden files also have names from
// objects, so they are not checked. The keys are regular expressions.
var ownPhrases = map[string]string{
	"(has )?made (no|another)":        "created",
	"nobody":                          "no user, no controller, none, the component",
	"(took|takes?|taken) it (up|off)": "picked up, remove",
	"any more":                        "no longer",
	// Not "there is no field". The letters are those of %q, %s and %v.
	"(it|input|output|that|which|[qsv]) is no (configuration|duration|field|index|key|list|range|run|terminal)": "is not a",
	"in vain":                         "without effect",
	"lets? go of":                     "releases",
	"makes no (workload|mirror|pods)": "creates no",
	"mend":                            "repair, fix",
	"no more":                         "no longer",
	"of ours":                         "of dispatch, of this plugin",
	"puts? it out":                    "evicts",
	"over (retries|multikueue's)":     "through",
	"see (that|to)":                   "check that",
	"take it back":                    "withdraw it, undo it",
	"the kueue manager":               "Kueue on CONTEXT",
	"their like":                      "similar kinds",
	"waits? since":                    "has waited since",

	// A fix stands alone in an alert, and after steps about other objects.
	"(delete|restore|end|start|set) it:? (%|to %|from scratch: %)": "delete the KIND",
	"(and|then|,) create it again(,|$)":                            "create the KIND again",
}

// packages are the directories whose string literals are checked, with those below them.
var packages = []string{
	"pkg/bundle", "pkg/cmd", "pkg/delegation", "pkg/dispatch", "pkg/inspect", "pkg/kueue", "pkg/logs", "pkg/printers",
}

// maxWords is the maximum number of words in a sentence of the documentation.
const maxWords = 30

// TestPhrases checks all pages, including generated ones, all golden files, and the string literals
// of packages.
func TestPhrases(t *testing.T) {
	check := func(name, text string, phrases map[string]string) {
		text = strings.ToLower(strings.Join(strings.Fields(text), " "))
		for phrase, better := range phrases {
			for _, at := range regexp.MustCompile(`\b`+phrase+`\b`).FindAllStringIndex(text, -1) {
				t.Errorf("%s: %q; write: %s\n\t… %s …", name, phrase, better, text[max(0, at[0]-40):min(len(text), at[1]+40)])
			}
		}
	}
	for _, name := range append(pages(t), goldens(t)...) {
		check(name, read(t, name), phrases)
	}
	for _, name := range pages(t) {
		check(name, quoted.ReplaceAllString(fences.ReplaceAllString(read(t, name), ""), ""), ownPhrases)
	}
	for _, name := range sources(t) {
		for _, literal := range literals(t, name) {
			where := fmt.Sprintf("%s:%d", name, literal.line)
			check(where, literal.text, phrases)
			check(where, literal.text, ownPhrases)
		}
	}
}

// literal is a string literal of a Go file.
type literal struct {
	line int
	text string
}

// literals returns the string literals of a Go file, except import paths and tags.
func literals(t *testing.T, name string) []literal {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, read(t, name), parser.SkipObjectResolution)
	assert.NilError(t, err)
	var found []literal
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				assert.NilError(t, err)
				found = append(found, literal{files.Position(n.Pos()).Line, text})
			}
		}
		return true
	})
	return found
}

// TestSentences checks the length of sentences on pages that people read from the top. Entries of
// the changelog, and descriptions of measurements, are lists.
func TestSentences(t *testing.T) {
	for _, name := range pages(t) {
		if strings.Contains(name, "docs/commands/") || strings.HasSuffix(name, "performance.md") || strings.HasSuffix(name, "CHANGELOG.md") {
			continue
		}
		for _, sentence := range sentences(read(t, name)) {
			if words := len(strings.Fields(sentence)); words > maxWords {
				t.Errorf("%s: %d words: %s", name, words, sentence)
			}
		}
	}
}

// TestSentencesAreFound checks what counts as a sentence.
func TestSentencesAreFound(t *testing.T) {
	page := "# A title\n\nOne two. Three\nfour: five, e.g. `a. b`.\n\n- six\n  seven\n- eight\n\n| nine. ten |\n\n```sh\neleven\n```\n"
	assert.DeepEqual(t, sentences(page), []string{"One two", "Three four: five, e.g. x", "six seven", "eight"})
}

var (
	fences = regexp.MustCompile("(?s)```.*?```")
	quoted = regexp.MustCompile("`[^`]*`")
	ends   = regexp.MustCompile(`[.!?](\s|$)`)
)

// sentences returns the sentences of a page's paragraphs and lists, without tables, titles and
// code.
func sentences(page string) []string {
	page = quoted.ReplaceAllString(fences.ReplaceAllString(page, ""), "x")
	var all []string
	var paragraph []string
	flush := func() {
		text := strings.ReplaceAll(strings.Join(strings.Fields(strings.Join(paragraph, " ")), " "), "e.g. ", "e.g.\x00")
		for _, s := range ends.Split(text, -1) {
			if s = strings.TrimSpace(strings.ReplaceAll(s, "\x00", " ")); s != "" {
				all = append(all, s)
			}
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "#"), strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "<!--"), strings.HasPrefix(line, "    "):
			flush()
		case strings.HasPrefix(trimmed, "- "):
			flush()
			paragraph = append(paragraph, strings.TrimPrefix(trimmed, "- "))
		default:
			paragraph = append(paragraph, trimmed)
		}
	}
	flush()
	return all
}

// pages returns the Markdown files of the project, without recorded ones.
func pages(t *testing.T) []string {
	t.Helper()
	return files(t, ".", func(name string) bool {
		return strings.HasSuffix(name, ".md") && !strings.Contains(name, "testdata/")
	})
}

// sources returns the Go files of packages, without tests.
func sources(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, directory := range packages {
		names = append(names, files(t, directory, func(name string) bool {
			return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/")
		})...)
	}
	return names
}

// goldens returns the files with the expected output of commands.
func goldens(t *testing.T) []string {
	t.Helper()
	return files(t, "pkg", func(name string) bool {
		return strings.HasSuffix(name, ".txt") && strings.Contains(name, "testdata/")
	})
}

func files(t *testing.T, below string, want func(name string) bool) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(root, below), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bin" || d.Name() == "dist" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != filepath.Join(root, below)) {
			return fs.SkipDir
		}
		if name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))); want(name) && !d.IsDir() {
			names = append(names, name)
		}
		return nil
	})
	assert.NilError(t, err)
	assert.Assert(t, len(names) > 0)
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	assert.NilError(t, err)
	return string(text)
}
