// Package complete completes words of a command line with entries of the kubeconfig, and with
// names of objects on clusters. It takes no longer than a user waits after pressing TAB.
package complete

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

const (
	// completionTime is how long a user waits for answers after pressing TAB. The start of
	// kubectl and of the plugin comes on top.
	completionTime = 235 * time.Millisecond
	// TimeVariable is the environment variable that overrides completionTime, for distant clusters.
	TimeVariable = "KUBECTL_JOBS_MANAGEDBY_COMPLETION_TIMEOUT"
	// maxChoices is the maximum number of choices for a shell. bash takes longer to show ten
	// thousand than it takes to read them.
	maxChoices = 500
)

// Completer finds the choices for the word at the cursor. It never fails: after an error there are
// no choices.
type Completer struct {
	env   util.Environment
	flags *util.GlobalFlags
}

// New returns a Completer for a command line with flags.
func New(env util.Environment, flags *util.GlobalFlags) *Completer {
	// Nothing may be printed into the user's command line.
	env.ErrOut = io.Discard
	return &Completer{env: env, flags: flags}
}

// word is the word to complete, with the arguments before it.
type word struct {
	cmd   *cobra.Command
	args  []string
	typed string
}

// flag returns the value of a flag that was typed before the word, or the default of the flag.
func (w word) flag(name string) string {
	if f := w.cmd.Flag(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// Finder finds choices and adds them, with or without the prefix of the word. Choices that it adds
// after the end of ctx are ignored.
type Finder func(ctx context.Context, w word, found *choices)

// Func converts a Finder to a completion function of cobra with a time limit.
func (c *Completer) Func(find Finder) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), c.time())
		defer cancel()
		found := &choices{typed: typed}
		done := make(chan struct{})
		go func() {
			defer close(done)
			recoverPanics(func() { find(ctx, word{cmd, args, typed}, found) })
		}()
		select {
		case <-done:
		case <-ctx.Done():
			// Credential plugins, for example, ignore the context.
		}
		return found.all()
	}
}

// recoverPanics runs a function and recovers from panics: a stack trace must not appear in a shell.
func recoverPanics(do func()) {
	defer func() { _ = recover() }()
	do()
}

func (c *Completer) time() time.Duration {
	value, _ := c.env.LookupEnv(TimeVariable)
	if d, err := time.ParseDuration(value); err == nil && d > 0 {
		return d
	}
	return completionTime
}

// choices are the choices that were found so far.
type choices struct {
	typed string

	lock sync.Mutex
	// found has the choices; the value reports whether a choice goes before the others.
	found map[string]bool
}

// add adds a choice if the typed word is a prefix of it.
func (c *choices) add(choice string) { c.put(choice, false) }

// addFirst adds a choice that goes before those of add.
func (c *choices) addFirst(choice string) { c.put(choice, true) }

func (c *choices) put(choice string, isFirst bool) {
	if choice == "" || !strings.HasPrefix(choice, c.typed) {
		return
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.found == nil {
		c.found = map[string]bool{}
	}
	c.found[choice] = c.found[choice] || isFirst
}

// all returns the choices in the form for cobra.
func (c *choices) all() ([]string, cobra.ShellCompDirective) {
	c.lock.Lock()
	defer c.lock.Unlock()
	var first, others []string
	for _, choice := range slices.Sorted(maps.Keys(c.found)) {
		if c.found[choice] {
			first = append(first, choice)
		} else {
			others = append(others, choice)
		}
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(others) > maxChoices {
		others, directive = fold(others, len(c.typed)), directive|cobra.ShellCompDirectiveNoSpace
	}
	if len(first) > 0 && len(others) > 0 {
		directive |= cobra.ShellCompDirectiveKeepOrder
	}
	all := slices.Concat(first, others)
	return all, directive | util.Directive(all)
}

// isEmpty reports whether there are no choices so far.
func (c *choices) isEmpty() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.found) == 0
}

// fold replaces many sorted names by a few common prefixes, each as long as possible and longer
// than the typed text. A shell would complete an incomplete list of names to the common
// prefix of the listed ones.
func fold(names []string, typed int) []string {
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	length := typed + 1
	for length < longest && countPrefixes(names, length+1) <= maxChoices {
		length++
	}
	var folded []string
	for i := 0; i < len(names); {
		begin, n := prefixOf(names[i], length), i
		for i < len(names) && prefixOf(names[i], length) == begin {
			i++
		}
		if i-n > 1 {
			begin = cobra.CompletionWithDesc(begin, fmt.Sprintf("%d names", i-n))
		}
		folded = append(folded, begin)
	}
	return folded
}

// countPrefixes counts the different prefixes of sorted names.
func countPrefixes(names []string, length int) int {
	count, last := 0, ""
	for _, name := range names {
		if begin := prefixOf(name, length); count == 0 || begin != last {
			count, last = count+1, begin
		}
	}
	return count
}

// prefixOf returns a prefix of a name that ends with a whole character.
func prefixOf(name string, length int) string {
	if length >= len(name) {
		return name
	}
	for !utf8.RuneStart(name[length]) {
		length++
		if length == len(name) {
			break
		}
	}
	return name[:length]
}
