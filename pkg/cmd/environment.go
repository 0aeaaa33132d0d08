// Package cmd holds the commands: flags become options, options run. All wiring
// is here, and no judgment and no drawing.
package cmd

import (
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/util/term"
	"k8s.io/utils/clock"
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
	Clock     clock.WithTicker
}

// ThisProcess is the environment of the process that calls it.
func ThisProcess() Environment {
	return Environment{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Program:   os.Args[0],
		Args:      os.Args[1:],
		LookupEnv: os.LookupEnv,
		Clock:     clock.RealClock{},
	}
}

// displayName is how the user called the plugin, with "kubectl" in front
// whether it was called through kubectl or not. kubectl looks for the words
// behind it joined by dashes, with the dashes inside a word made underscores
// (kubectl: pkg/cmd/plugin.go).
func (e Environment) displayName() string {
	program := strings.TrimSuffix(filepath.Base(e.Program), ".exe")
	words, ok := strings.CutPrefix(program, "kubectl-")
	if !ok {
		return "kubectl jobs-managedby"
	}
	return "kubectl " + strings.ReplaceAll(strings.ReplaceAll(words, "-", " "), "_", "-")
}

// terminal tells about the terminal that Out is; ok is false where it is none.
func (e Environment) terminal() (size term.TerminalSize, ok bool) {
	tty := term.TTY{Out: e.Out}
	if !tty.IsTerminalOut() {
		return size, false
	}
	if s := tty.GetSize(); s != nil {
		size = *s
	}
	return size, true
}

// wantsColor decides about colour: the flag, else the presence of NO_COLOR, even
// if empty, else TERM=dumb, else whether Out is a terminal.
func (e Environment) wantsColor(flag string) bool {
	switch flag {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	if _, present := e.LookupEnv("NO_COLOR"); present {
		return false
	}
	if name, _ := e.LookupEnv("TERM"); name == "dumb" {
		return false
	}
	_, isTerminal := e.terminal()
	return isTerminal
}
