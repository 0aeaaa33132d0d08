package completion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// scriptMark is a line of every script for kubectl that identifies it as ours.
const scriptMark = "# jobmanagedby.github.io/completion: written by the plugin, which may replace it."

// completionFile returns the name of the file that kubectl runs to complete a plugin's words
// (kubectl: pkg/cmd/plugin/plugin_completion.go).
func completionFile(plugin string) string { return "kubectl_complete-" + plugin }

// completionScript returns the content of that file. kubectl passes the words after the plugin's
// name, the last of which may be empty, and reads the output.
func completionScript(plugin string) string {
	return fmt.Sprintf(`#!/bin/sh
# kubectl runs this script to complete "%s".
%s
[ "$#" -gt 0 ] || set -- ''
exec %s __complete "$@" 2>/dev/null
`, util.Environment{Program: pluginPrefix + plugin}.DisplayName(), scriptMark, pluginPrefix+plugin)
}

// script is a script to install.
type script struct{ plugin, path string }

// installScripts writes a script for kubectl next to the plugin, for each name that the plugin
// has there.
func (o *completionOptions) installScripts() error {
	if runtime.GOOS == "windows" {
		return fmt.Errorf("--install writes a script for /bin/sh, which Windows does not have; create a file %s.cmd in a directory of PATH, with the line: @%s __complete %%* 2>NUL",
			completionFile(pluginName(o.Environment)), program(o.Environment))
	}
	directories := o.directories()
	if len(directories) == 0 {
		return fmt.Errorf("no directory of PATH has %s, so kubectl finds neither the plugin nor its completion; install the plugin there first", program(o.Environment))
	}
	var errs []error
	for _, directory := range directories {
		done, err := o.installInto(directory)
		switch {
		case err == nil:
			util.Report(o.Out, "%s; %s <TAB> now completes in every shell with kubectl's own completion", done, o.DisplayName())
			return nil
		case !errors.Is(err, errNotWritable):
			return err
		}
		errs = append(errs, err)
	}
	file := o.place(pluginName(o.Environment), directories[0])
	return command.Errorf("%w. To install it as root, run %s and then %s", errors.Join(errs...),
		command.Of("sudo", "tee", file).FedBy(command.Plugin("completion")), command.Of("sudo", "chmod", "755", file))
}

// directories returns the directories of PATH with the plugin, first the one that it was called
// from.
func (o *completionOptions) directories() []string {
	var directories []string
	for _, directory := range o.path() {
		if isExecutable(filepath.Join(directory, program(o.Environment))) && !slices.Contains(directories, directory) {
			directories = append(directories, directory)
		}
	}
	if i := slices.Index(directories, filepath.Dir(o.Program)); i > 0 {
		directories = slices.Concat(directories[i:i+1], directories[:i], directories[i+1:])
	}
	return directories
}

// path returns the directories of PATH from which kubectl runs files.
func (o *completionOptions) path() []string {
	value, _ := o.LookupEnv("PATH")
	var directories []string
	for _, directory := range filepath.SplitList(value) {
		if filepath.IsAbs(directory) {
			directories = append(directories, filepath.Clean(directory))
		}
	}
	return directories
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// errNotWritable is wrapped if another directory may be writable.
var errNotWritable = errors.New("not writable")

// installInto writes scripts for the plugin in a directory, for each of the plugin's names there,
// and returns a description. It writes nothing if a script would replace a foreign file.
func (o *completionOptions) installInto(directory string) (done string, err error) {
	var stale []script
	var paths []string
	for _, plugin := range append([]string{pluginName(o.Environment)}, pluginNames()...) {
		s := script{plugin, o.place(plugin, directory)}
		if !isExecutable(filepath.Join(directory, pluginPrefix+plugin)) || slices.Contains(paths, s.path) {
			continue
		}
		paths = append(paths, s.path)
		isFresh, err := s.check()
		if err != nil {
			return "", err
		}
		if !isFresh {
			stale = append(stale, s)
		}
	}
	for _, s := range stale {
		if err := s.write(); err != nil {
			return "", err
		}
	}
	if len(stale) == 0 {
		return strings.Join(paths, " and ") + " already exists", nil
	}
	return "wrote " + strings.Join(paths, " and "), nil
}

// place returns the path of a script: that of the file that kubectl runs now or, without one, a
// path in the directory.
func (o *completionOptions) place(plugin, directory string) string {
	for _, f := range o.path() {
		if path := filepath.Join(f, completionFile(plugin)); isExecutable(path) {
			return path
		}
	}
	return filepath.Join(directory, completionFile(plugin))
}

// check reports whether the file is up to date, or why it must not be written.
func (s script) check() (isFresh bool, err error) {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read %s: %w", s.path, err)
	}
	text, err := os.ReadFile(s.path)
	switch {
	case err == nil && string(text) == completionScript(s.plugin) && isExecutable(s.path):
		return true, nil
	case err != nil || !info.Mode().IsRegular() || !strings.Contains(string(text), scriptMark):
		return false, fmt.Errorf("%s exists and was not written by this command. Remove it first", s.path)
	}
	return false, nil
}

// write writes the whole file or nothing.
func (s script) write() (err error) {
	file, err := os.CreateTemp(filepath.Dir(s.path), ".kubectl_complete-*")
	if err != nil {
		return fmt.Errorf("%s is %w: %w", filepath.Dir(s.path), errNotWritable, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.WriteString(completionScript(s.plugin))
	if err = errors.Join(err, file.Chmod(0o755), file.Close()); err == nil {
		err = os.Rename(file.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", s.path, err)
	}
	return nil
}

// program returns the name of the plugin's file.
func program(env util.Environment) string { return pluginPrefix + pluginName(env) }

// pluginPrefix is the prefix of the names of all plugins' files.
const pluginPrefix = "kubectl-"

// pluginName returns the name of the plugin's file without the prefix: as it was called, otherwise
// as it is installed.
func pluginName(env util.Environment) string {
	name, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(env.Program), ".exe"), pluginPrefix)
	if !ok {
		return pluginNames()[0]
	}
	return name
}

// pluginNames returns the names that the plugin is installed under.
func pluginNames() []string { return []string{"jobs_managedby", "jobmanagedby"} }
