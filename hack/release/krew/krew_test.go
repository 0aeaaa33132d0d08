package krew_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/hack/release/krew"
)

const tag = "v1.2.3"

func expectation() krew.Expectation {
	return krew.Expectation{
		Name: "jobs-managedby", Version: tag, Homepage: "https://github.com/jobmanagedby/kubectl-jobmanagedby",
		Platforms: []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"},
	}
}

// rendered returns the plugin's own manifest, for a release whose archives all have the same
// checksum.
func rendered(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../plugins.yaml")
	assert.NilError(t, err)
	manifest, err := krew.Render(text, tag, func(string) (string, error) { return strings.Repeat("0a", 32), nil })
	assert.NilError(t, err)
	return string(manifest)
}

func TestManifest(t *testing.T) {
	manifest := rendered(t)
	assert.NilError(t, expectation().Check([]byte(manifest)))
	m, err := krew.Parse([]byte(manifest))
	assert.NilError(t, err)
	assert.DeepEqual(t, m.Spec.Platforms[0], krew.Platform{
		Selector: krew.Selector{MatchLabels: map[string]string{"os": "linux", "arch": "amd64"}},
		URI:      "https://github.com/jobmanagedby/kubectl-jobmanagedby/releases/download/v1.2.3/kubectl-jobmanagedby_v1.2.3_linux_amd64.tar.gz",
		Sha256:   strings.Repeat("0a", 32),
		Bin:      "kubectl-jobs_managedby",
		Files:    []krew.File{{From: "kubectl-jobs_managedby", To: "."}, {From: "LICENSE", To: "."}},
	})
	assert.Assert(t, strings.Contains(m.Spec.Caveats, "kubectl jobs-managedby completion --install"))
}

func TestCheckRejectsManifests(t *testing.T) {
	const short = "shortDescription: Trace and diagnose MultiKueue and managedBy Jobs"
	for name, test := range map[string]struct{ old, broken, want string }{
		"unknown field":            {"  caveats:", "  caveat:", `unknown field "caveat"`},
		"field twice":              {"  version: v1.2.3", "  version: v1.2.3\n  version: v1.2.4", `key "version" already set`},
		"other name":               {"name: jobs-managedby", "name: jobs-managed-by", `metadata.name is "jobs-managed-by", expected "jobs-managedby"`},
		"name not in kebab case":   {"name: jobs-managedby", "name: jobs_managedby", `metadata.name "jobs_managedby" is not in kebab case`},
		"name with kube":           {"name: jobs-managedby", "name: kube-jobs", `metadata.name "kube-jobs" is not in kebab case, or begins with kube`},
		"other version":            {"  version: v1.2.3", "  version: v1.2.2", `spec.version is "v1.2.2", but the release is "v1.2.3"`},
		"homepage elsewhere":       {"homepage: https://github.com/", "homepage: https://example.com/", "spec.homepage is"},
		"no short description":     {short, "shortDescription: ''", "spec.shortDescription is missing"},
		"long short description":   {short, short + " in a fleet", "spec.shortDescription has 59 characters, more than 50"},
		"sentence":                 {short, short + ".", "spec.shortDescription ends with a full stop"},
		"no description":           {`(?s)  description: .*  caveats:`, "  caveats:", "spec.description is missing"},
		"unknown platform":         {"os: darwin", "os: freebsd", "platform freebsd/amd64 is not in the release"},
		"platform missing":         {"os: darwin", "os: freebsd", "platform darwin/amd64 is missing"},
		"platform twice":           {"arch: arm64", "arch: amd64", "platform linux/amd64 appears twice"},
		"selector too narrow":      {"os: linux", "os: linux\n        libc: musl", "the selector has more than os and arch"},
		"archive elsewhere":        {"uri: https://github.com/jobmanagedby/", "uri: https://github.com/somebody/", "is not in this release"},
		"archive of other release": {"download/v1.2.3/", "download/v1.2.2/", "is not in this release"},
		"unsupported archive":      {"amd64.tar.gz", "amd64.tar.xz", "is neither a .tar.gz nor a .zip"},
		"bin of Windows elsewhere": {"bin: kubectl-jobs_managedby\n", "bin: kubectl-jobs_managedby.exe\n", "It must end with .exe on Windows only"},
		"no bin of Windows":        {"bin: kubectl-jobs_managedby.exe", "bin: kubectl-jobs_managedby", "It must end with .exe on Windows only"},
		"bin outside":              {"bin: kubectl-jobs_managedby\n", "bin: ../kubectl-jobs_managedby\n", "is not a path below the plugin's directory"},
		"bin absolute":             {"bin: kubectl-jobs_managedby\n", "bin: /kubectl-jobs_managedby\n", "is not a path below the plugin's directory"},
		"bin not in files":         {"- from: kubectl-jobs_managedby\n", "- from: kubectl-jobs-managedby\n", `files lack bin, "kubectl-jobs_managedby"`},
		"no license in files":      {"- from: LICENSE\n", "- from: README.md\n", "files lack the LICENSE"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := rendered(t)
			at := regexp.MustCompile(test.old).FindStringIndex(manifest)
			assert.Assert(t, at != nil, "the manifest has no match for the pattern of this case")
			broken := manifest[:at[0]] + test.broken + manifest[at[1]:]
			assert.ErrorContains(t, expectation().Check([]byte(broken)), test.want)
		})
	}
}

func TestWithoutPlatforms(t *testing.T) {
	text, err := krew.WithoutPlatforms([]byte(rendered(t)), []string{
		"kubectl-jobmanagedby_v1.2.3_linux_arm64.tar.gz", "kubectl-jobmanagedby_v1.2.3_windows_amd64.zip", "kubectl-jobmanagedby_v1.2.3_windows_arm64.zip",
	})
	assert.NilError(t, err)
	rest := expectation()
	rest.Platforms = []string{"linux/amd64", "darwin/amd64", "darwin/arm64"}
	assert.NilError(t, rest.Check(text))
	assert.ErrorContains(t, expectation().Check(text), "platform windows/arm64 is missing")
}

func TestRenderReportsTemplateErrors(t *testing.T) {
	missing := errors.New("there is no such archive")
	for name, test := range map[string]struct{ template, want string }{
		"unknown function": {`{{ addSha "x" .TagName }}`, `function "addSha" not defined`},
		"unknown value":    {`{{ .Version }}`, "can't evaluate field Version"},
		"broken URI":       {`{{ addURIAndSha "{{ .TagName" .TagName }}`, "unclosed action"},
		"unknown in URI":   {`{{ addURIAndSha "{{ .Tag }}" .TagName }}`, "can't evaluate field Tag"},
		"no archive":       {`{{ addURIAndSha "x" .TagName }}`, missing.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := krew.Render([]byte(test.template), tag, func(string) (string, error) { return "", missing })
			assert.ErrorContains(t, err, test.want)
		})
	}
}
