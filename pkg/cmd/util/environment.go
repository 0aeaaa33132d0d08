// Package util is what the commands share: what they know of the process, the flags that
// say where to look, how flags become clusters that answer, what is told besides the
// output, and errors with their exit codes.
package util

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// What --color can be.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// Environment is all that a command knows of the process it runs in.
type Environment struct {
	genericiooptions.IOStreams
	// Program is what the process was called as: os.Args[0].
	Program string
	// Args are the arguments behind it.
	Args []string
	// LookupEnv is os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// Environ are the variables that commands inherit which the plugin runs, as os.Environ
	// returns them.
	Environ []string
	Clock   clock.WithTicker
	// Host is the name of the machine, and PID the number of the process on it.
	Host string
	PID  int
}

// ThisProcess is the environment of the process that calls it.
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

// DisplayName is how the user called the plugin, with "kubectl" in front
// whether it was called through kubectl or not. kubectl looks for the words
// behind it joined by dashes, with the dashes inside a word made underscores
// (kubectl: pkg/cmd/plugin.go).
func (e Environment) DisplayName() string {
	program := strings.TrimSuffix(filepath.Base(e.Program), ".exe")
	words, ok := strings.CutPrefix(program, "kubectl-")
	if !ok {
		return "kubectl jobs-managedby"
	}
	typed := append([]string{"kubectl"}, strings.Split(words, "-")...)
	return strings.ReplaceAll(strings.Join(typed, " "), "_", "-")
}

// Own is a command of ours as the user calls the plugin.
func (e Environment) Own(words ...string) command.Command {
	return command.Of(strings.Fields(e.DisplayName())...).With(words...)
}

// Identity is who this process is to others: on Leases, and in what it writes
// for people. No two processes have the same, on machines of one name neither.
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

// Terminal tells about the terminal that Out is; ok is false where it is none.
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

// Cursor tells how wide the terminal is that Out is; ok is false where it is none,
// or none whose cursor can be moved.
func (e Environment) Cursor() (width int, ok bool) {
	if name, _ := e.LookupEnv("TERM"); name == "dumb" {
		return 0, false
	}
	size, ok := e.Terminal()
	return int(size.Width), ok
}

// TableNow are a table's options with what may change while a command runs: the time,
// and the width of the terminal.
func (e Environment) TableNow(table printers.TableOptions) printers.TableOptions {
	table.Now = e.Clock.Now()
	if size, ok := e.Terminal(); ok {
		table.Width = int(size.Width)
	}
	return table
}

// WantsColor decides about colour: the flag, else the presence of NO_COLOR, even
// if empty, else TERM=dumb, else whether Out is a terminal.
func (e Environment) WantsColor(flag string) bool {
	switch flag {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	if _, present := e.LookupEnv("NO_COLOR"); present {
		return false
	}
	if name, _ := e.LookupEnv("TERM"); name == "dumb" {
		return false
	}
	_, isTerminal := e.Terminal()
	return isTerminal
}
