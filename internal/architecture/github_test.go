package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

// TestDependencyUpdates: Dependabot updates every module except those that pin older versions of
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

// TestWorkflows: workflows and the action pin other actions by commit, with the release in a
// comment. Workflows have only the rights that their jobs request, keep no credentials in the
// checkout, and put nothing of an event into a script.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yaml"))
	assert.NilError(t, err)
	assert.Assert(t, len(files) >= 4)
	uses := regexp.MustCompile(`uses:\s*(.*)`)
	isPinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, path := range append(files, filepath.Join(root, "action.yml")) {
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		for _, found := range uses.FindAllStringSubmatch(string(text), -1) {
			assert.Assert(t, isPinned.MatchString(found[1]), "%s: %s", path, found[1])
		}
		checkouts := strings.Count(string(text), "actions/checkout@")
		assert.Equal(t, strings.Count(string(text), "persist-credentials: false"), checkouts, path)
		if strings.HasSuffix(path, "action.yml") {
			continue
		}
		var workflow struct {
			Permissions map[string]string `json:"permissions"`
			Jobs        map[string]struct {
				Steps []struct {
					Run string `json:"run"`
				} `json:"steps"`
			} `json:"jobs"`
		}
		assert.NilError(t, yaml.Unmarshal(text, &workflow), path)
		assert.Assert(t, workflow.Permissions != nil, "%s does not set permissions", path)
		for what, right := range workflow.Permissions {
			assert.Equal(t, right, "read", "%s: %s", path, what)
		}
		for name, job := range workflow.Jobs {
			for _, step := range job.Steps {
				assert.Assert(t, !strings.Contains(step.Run, "${{"), "%s: %s: %s", path, name, step.Run)
			}
		}
	}
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
		assert.Assert(t, strings.Contains(string(text), "kubectl jobs-managedby snapshot DIR -A --redact"), path)
	}
	flags, err := os.ReadFile(filepath.Join(root, "docs", "commands", "kubectl_jobs-managedby_snapshot.md"))
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(string(flags), "--redact"))
}
