// Package util has what the commands share: the environment of the process, the flags that choose
// contexts, connecting to clusters, messages besides the output, and errors with their exit
// codes.
package util

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// The values of --color.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// Environment is everything that a command knows about its process.
type Environment struct {
	genericiooptions.IOStreams
	// Program is the name that the process was called by: os.Args[0].
	Program string
	// Args are the arguments after it.
	Args []string
	// LookupEnv is os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// Environ are the environment variables for programs that the plugin runs, as from
	// os.Environ.
	Environ []string
	Clock   clock.WithTicker
	// TableOut, unless it is nil, gets the table for people of a command that prints a document
	// to Out.
	TableOut io.Writer
	// OpenSnapshot opens the snapshot that --from names, as bundle.Open does; nil means bundle.Open.
	OpenSnapshot func(dir string) (*bundle.Bundle, error)
	// Host is the name of the machine, and PID the process ID.
	Host string
	PID  int
}

// ThisProcess returns the environment of the current process.
func ThisProcess() Environment {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return Environment{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Program:   os.Args[0],
		Args:      os.Args[1:],
		LookupEnv: os.LookupEnv,
		Environ:   os.Environ(),
		Clock:     clock.RealClock{},
		Host:      host,
		PID:       os.Getpid(),
	}
}

// DisplayName returns how the user called the plugin, with "kubectl" in front whether it was
// called through kubectl or not. kubectl joins the words after it by dashes to find the plugin,
// with the dashes inside a word replaced by underscores (kubectl: pkg/cmd/plugin.go).
func (e Environment) DisplayName() string {
	program := strings.TrimSuffix(filepath.Base(e.Program), ".exe")
	words, ok := strings.CutPrefix(program, "kubectl-")
	if !ok {
		return "kubectl jobs-managedby"
	}
	typed := append([]string{"kubectl"}, strings.Split(words, "-")...)
	return strings.ReplaceAll(strings.Join(typed, " "), "_", "-")
}

// Line returns a command of this plugin as a line for a shell, under the name by which the user called the plugin. It
// adds no flags.
func (e Environment) Line(c command.Command) string {
	return command.Reached(c.Shell(), command.Reach{Plugin: e.DisplayName()})
}

// Identity returns a name for this process on Leases and in texts for people. It is different for
// every process, even on machines with the same name.
func (e Environment) Identity() string {
	user := "somebody"
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if value, ok := e.LookupEnv(name); ok && value != "" {
			user = value
			break
		}
	}
	return fmt.Sprintf("%s@%s/%d-%s", user, e.Host, e.PID, rand.String(5))
}

// Terminal returns the size of the terminal of Out; ok is false if Out is not a terminal.
func (e Environment) Terminal() (size term.TerminalSize, ok bool) {
	tty := term.TTY{Out: e.Out}
	if !tty.IsTerminalOut() {
		return size, false
	}
	if s := tty.GetSize(); s != nil {
		size = *s
	}
	return size, true
}

// Cursor returns the width of the terminal of Out; ok is false if Out is not a terminal, or one
// whose cursor cannot be moved.
func (e Environment) Cursor() (width int, ok bool) {
	if name, _ := e.LookupEnv("TERM"); name == "dumb" {
		return 0, false
	}
	size, ok := e.Terminal()
	return int(size.Width), ok
}

// TableNow sets the options of a table that may change while a command runs: the time, and the
// width of the terminal.
func (e Environment) TableNow(table printers.TableOptions) printers.TableOptions {
	table.Now = e.Clock.Now()
	if size, ok := e.Terminal(); ok {
		table.Width = int(size.Width)
	}
	return table
}

// WantsColor decides about color. The first of these counts: the flag, NO_COLOR unless it is empty
// (no-color.org), TERM=dumb, and whether Out is a terminal.
func (e Environment) WantsColor(flag string) bool {
	switch flag {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	if value, _ := e.LookupEnv("NO_COLOR"); value != "" {
		return false
	}
	if name, _ := e.LookupEnv("TERM"); name == "dumb" {
		return false
	}
	_, isTerminal := e.Terminal()
	return isTerminal
}

// Version is the version of the module that the binary was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
