package architecture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

// TestDependencyUpdates: Dependabot looks at every module but those that pin older versions of
// Kubernetes for tests.
func TestDependencyUpdates(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github", "dependabot.yml"))
	assert.NilError(t, err)
	var file struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	assert.NilError(t, yaml.Unmarshal(text, &file))
	var modules []string
	assert.NilError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "versions" || entry.Name() == "bin" || entry.Name() == ".git" || entry.Name() == ".demo") {
			return filepath.SkipDir
		}
		if entry.Name() == "go.mod" {
			modules = append(modules, "/"+strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), root+"/"))
		}
		return nil
	}))
	for i, m := range modules {
		if m == "/"+root {
			modules[i] = "/"
		}
	}
	var watched []string
	for _, u := range file.Updates {
		watched = append(watched, u.Directories...)
	}
	slices.Sort(modules)
	slices.Sort(watched)
	assert.DeepEqual(t, watched, modules)
}

// TestIssueTemplates: each form has what GitHub requires, and the one for bugs asks for a
// snapshot by a command that exists.
func TestIssueTemplates(t *testing.T) {
	forms, err := filepath.Glob(filepath.Join(root, ".github", "ISSUE_TEMPLATE", "*.yaml"))
	assert.NilError(t, err)
	assert.Equal(t, len(forms), 2)
	for _, path := range forms {
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		var form struct {
			Name        string   `json:"name"`
			Description string   `json:"description"`
			Labels      []string `json:"labels"`
			Body        []struct {
				Type       string `json:"type"`
				ID         string `json:"id"`
				Attributes struct {
					Label       string `json:"label"`
					Description string `json:"description"`
					Render      string `json:"render"`
				} `json:"attributes"`
				Validations struct {
					Required bool `json:"required"`
				} `json:"validations"`
			} `json:"body"`
		}
		assert.NilError(t, yaml.UnmarshalStrict(text, &form), path)
		assert.Assert(t, form.Name != "" && form.Description != "" && len(form.Labels) > 0, path)
		ids := map[string]bool{}
		for _, field := range form.Body {
			assert.Assert(t, field.ID != "" && !ids[field.ID] && field.Attributes.Label != "", "%s: %+v", path, field)
			assert.Assert(t, slices.Contains([]string{"input", "textarea"}, field.Type), field.Type)
			ids[field.ID] = true
		}
		assert.Assert(t, strings.Contains(string(text), "kubectl jobs-managedby snapshot DIR --redact"), path)
	}
	flags, err := os.ReadFile(filepath.Join(root, "docs", "commands", "kubectl_jobs-managedby_snapshot.md"))
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(flags), "--redact"))
}
