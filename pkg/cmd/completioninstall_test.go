package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

const (
	completionOfPlugin = "kubectl_complete-jobs_managedby"
	// writtenMark is in every file that the plugin writes.
	writtenMark = "# jobmanagedby.github.io/completion: written by the plugin, which may replace it."
)

// pluginIn writes a program that prints its arguments instead of the plugin. Links have other
// names for it.
func pluginIn(t *testing.T, folder string, links ...string) (program string) {
	t.Helper()
	assert.NilError(t, os.MkdirAll(folder, 0o755))
	program = filepath.Join(folder, "kubectl-jobs_managedby")
	assert.NilError(t, os.WriteFile(program, []byte("#!/bin/sh\nprintf '<%s>' \"$@\"\necho oops >&2\n"), 0o755))
	for _, link := range links {
		assert.NilError(t, os.Symlink(program, filepath.Join(folder, link)))
	}
	return program
}

func install(t *testing.T, program string, path ...string) (stdout, stderr string, code int) {
	t.Helper()
	variables := map[string]string{"PATH": strings.Join(path, string(filepath.ListSeparator))}
	return runIn(t, program, variables, "completion", "--install")
}

// TestInstalledScript: the script passes on the words, also an empty one, and prints only
// choices.
func TestInstalledScript(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "bin")
	program := pluginIn(t, bin)
	out, _, code := install(t, program, "relative", "", bin)
	assert.Equal(t, code, 0)
	assert.Equal(t, out, "wrote "+filepath.Join(bin, completionOfPlugin)+"; kubectl jobs-managedby <TAB> now completes in every shell with kubectl's own completion\n")

	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"trace", ""}, "<__complete><trace><>"},
		{[]string{"trace", "-n", "a b", `$x'"*`}, `<__complete><trace><-n><a b><$x'"*>`},
		{nil, "<__complete><>"},
	} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, completionOfPlugin), tt.words...)
		cmd.Env = []string{"PATH=" + bin + ":/bin:/usr/bin"}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		got, err := cmd.Output()
		assert.NilError(t, err)
		assert.Equal(t, string(got), tt.want)
		assert.Equal(t, stderr.String(), "")
	}

	printed, _, code := runIn(t, program, nil, "completion")
	assert.Equal(t, code, 0)
	written, err := os.ReadFile(filepath.Join(bin, completionOfPlugin))
	assert.NilError(t, err)
	assert.Equal(t, printed, string(written))
	again, _, _ := runIn(t, program, nil, "completion", "kubectl")
	assert.Equal(t, again, printed)
}

func TestInstallTwice(t *testing.T) {
	bin := t.TempDir()
	program := pluginIn(t, bin)
	path := filepath.Join(bin, completionOfPlugin)
	_, _, code := install(t, program, bin)
	assert.Equal(t, code, 0)
	want, err := os.ReadFile(path)
	assert.NilError(t, err)

	out, _, code := install(t, program, bin)
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.HasPrefix(out, path+" already exists; "), out)

	// An older version wrote this.
	assert.NilError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+writtenMark+"\nexit 1\n"), 0o755))
	out, _, code = install(t, program, bin)
	assert.Equal(t, code, 0)
	assert.Assert(t, strings.HasPrefix(out, "wrote "+path+"; "), out)
	got, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(got), string(want))
	entries, err := os.ReadDir(bin)
	assert.NilError(t, err)
	assert.Equal(t, len(entries), 2, "the directory has other files")
}

// TestInstallKeepsForeignFiles: a file that the plugin has not written stays unchanged, and so
// does a link to it.
func TestInstallKeepsForeignFiles(t *testing.T) {
	bin := t.TempDir()
	program := pluginIn(t, bin, "kubectl-jobmanagedby")
	path := filepath.Join(bin, completionOfPlugin)
	elsewhere := filepath.Join(t.TempDir(), "script")
	assert.NilError(t, os.WriteFile(elsewhere, []byte("#!/bin/sh\n"+writtenMark+"\n"), 0o755))
	for name, put := range map[string]func() error{
		"another file":    func() error { return os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755) },
		"not executable":  func() error { return os.WriteFile(path, []byte("notes\n"), 0o644) },
		"a directory":     func() error { return os.Mkdir(path, 0o755) },
		"a link":          func() error { return os.Symlink(elsewhere, path) },
		"a dangling link": func() error { return os.Symlink("none", path) },
	} {
		t.Run(name, func(t *testing.T) {
			assert.NilError(t, put())
			out, errOut, code := install(t, program, bin)
			assert.Equal(t, code, 1)
			assert.Equal(t, out, "")
			assert.Equal(t, errOut, "error: "+path+" exists and was not written by this command. Remove it first\n")
			_, err := os.Lstat(filepath.Join(bin, "kubectl_complete-jobmanagedby"))
			assert.Assert(t, os.IsNotExist(err), "a file was written")
			assert.NilError(t, os.Remove(path))
		})
	}
}

// TestInstallDirectory: the script is installed where kubectl finds the plugin, and for each name
// that it has there.
func TestInstallDirectory(t *testing.T) {
	root := t.TempDir()
	store, krew, first, other := filepath.Join(root, "store"), filepath.Join(root, "krew"), filepath.Join(root, "first"), filepath.Join(root, "other")
	stored := pluginIn(t, store)
	assert.NilError(t, os.MkdirAll(krew, 0o755))
	assert.NilError(t, os.Symlink(stored, filepath.Join(krew, "kubectl-jobs_managedby")))
	pluginIn(t, first)
	pluginIn(t, other, "kubectl-jobmanagedby")
	assert.NilError(t, os.WriteFile(filepath.Join(other, "kubectl_complete-notes"), nil, 0o644))

	for _, tt := range []struct {
		name, program string
		path          []string
		code          int
		want          []string
		stderr        string
	}{
		{"a link, as krew makes it", filepath.Join(krew, "kubectl-jobs_managedby"), []string{first, krew}, 0, []string{filepath.Join(krew, completionOfPlugin)}, ""},
		{"by its name alone", "kubectl-jobs_managedby", []string{root, first, krew}, 0, []string{filepath.Join(first, completionOfPlugin)}, ""},
		{"from outside of PATH", stored, []string{first, krew}, 0, []string{filepath.Join(first, completionOfPlugin)}, ""},
		{"both names", filepath.Join(other, "kubectl-jobmanagedby"), []string{other}, 0, []string{filepath.Join(other, "kubectl_complete-jobmanagedby"), filepath.Join(other, completionOfPlugin)}, ""},
		{"existing script", filepath.Join(first, "kubectl-jobs_managedby"), []string{krew, first}, 0, []string{filepath.Join(krew, completionOfPlugin)}, ""},
		{"not on PATH", stored, []string{root}, 1, nil, "error: no directory of PATH has kubectl-jobs_managedby, so kubectl finds neither the plugin nor its completion; install the plugin there first\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "existing script" {
				assert.NilError(t, os.WriteFile(filepath.Join(krew, completionOfPlugin), []byte("#!/bin/sh\n"+writtenMark+"\n"), 0o755))
			}
			out, errOut, code := install(t, tt.program, tt.path...)
			assert.Equal(t, code, tt.code, errOut)
			assert.Equal(t, errOut, tt.stderr)
			if tt.code == 0 {
				assert.Assert(t, strings.HasPrefix(out, "wrote "+strings.Join(tt.want, " and ")+"; "), out)
			}
			for _, path := range tt.want {
				info, err := os.Stat(path)
				assert.Assert(t, err == nil && info.Mode()&0o111 != 0, path)
				assert.NilError(t, os.Remove(path))
			}
		})
	}
}

func TestCompletionUsage(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"ksh"}, `error: unknown shell "ksh"; choose one of kubectl, bash, zsh, fish, powershell`},
		{[]string{"bash", "--install"}, "error: --install does not support bash"},
		{[]string{"bash", "zsh"}, "error: kubectl jobs-managedby completion takes at most one argument"},
	} {
		_, errOut, code := runIn(t, "kubectl-jobs_managedby", nil, append([]string{"completion"}, tt.args...)...)
		assert.Equal(t, code, util.ExitUsage)
		assert.Assert(t, strings.HasPrefix(errOut, tt.stderr), errOut)
	}
}

// TestShellScripts: the scripts for the file itself are for the name it was called by.
func TestShellScripts(t *testing.T) {
	for shell, want := range map[string]string{
		"bash":       "complete -o default -F __start_kubectl-jobmanagedby kubectl-jobmanagedby\n",
		"zsh":        "#compdef kubectl-jobmanagedby\n",
		"fish":       "complete -c kubectl-jobmanagedby ",
		"powershell": "Register-ArgumentCompleter -CommandName 'kubectl-jobmanagedby' ",
	} {
		out, errOut, code := runIn(t, "/opt/bin/kubectl-jobmanagedby.exe", nil, "completion", shell)
		assert.Equal(t, code, 0, errOut)
		assert.Assert(t, strings.Contains(out, want), "%s: %s", shell, out)
	}
}
