// Package complete completes words of a command line by what has to be asked for: entries
// of the kubeconfig, and names of what is on clusters. It takes no longer than somebody
// waits who has pressed TAB.
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
	// completionTime is how long whoever has pressed TAB waits for what has to be
	// asked for. The start of kubectl and of the plugin comes on top.
	completionTime = 235 * time.Millisecond
	// TimeVariable is for clusters that are further away.
	TimeVariable = "KUBECTL_JOBS_MANAGEDBY_COMPLETION_TIMEOUT"
	// mostChoices is how many choices a shell is given. bash takes longer to show
	// ten thousand than it takes to ask for them.
	mostChoices = 500
)

// Completer finds what may stand in the place of a word that is being typed. It
// never fails: where nothing can be found out there are no choices.
type Completer struct {
	env   util.Environment
	flags *util.GlobalFlags
}

// New makes one for a command line with these flags.
func New(env util.Environment, flags *util.GlobalFlags) *Completer {
	// Nothing is ever printed between the words of a command line.
	env.ErrOut = io.Discard
	return &Completer{env: env, flags: flags}
}

// word is the word to complete, with what stands before it.
type word struct {
	cmd   *cobra.Command
	args  []string
	typed string
}

// flag is what the words before say of one of the command's flags, or its default.
func (w word) flag(name string) string {
	if f := w.cmd.Flag(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// Question finds choices and adds them, whether they begin as the word does or
// not. It may go on after its ctx has ended, but what it adds then is lost.
type Question func(ctx context.Context, w word, found *choices)

// Asks makes a Question something that cobra can ask, with a bound on its time.
func (c *Completer) Asks(ask Question) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), c.time())
		defer cancel()
		found := &choices{typed: typed}
		done := make(chan struct{})
		go func() {
			defer close(done)
			quietly(func() { ask(ctx, word{cmd, args, typed}, found) })
		}()
		select {
		case <-done:
		case <-ctx.Done():
			// Credential plugins, for one, do not heed it.
		}
		return found.all()
	}
}

// quietly does something that must not end the process: a shell is no place for a
// stack trace.
func quietly(do func()) {
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

// choices are what was found so far.
type choices struct {
	typed string

	lock sync.Mutex
	// found tells of each choice whether it goes before the others.
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

// all returns the choices as cobra takes them.
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
	told := cobra.ShellCompDirectiveNoFileComp
	if len(others) > mostChoices {
		others, told = fold(others, len(c.typed)), told|cobra.ShellCompDirectiveNoSpace
	}
	if len(first) > 0 && len(others) > 0 {
		told |= cobra.ShellCompDirectiveKeepOrder
	}
	all := slices.Concat(first, others)
	return all, told | util.Directive(all)
}

// none says whether nothing was found so far.
func (c *choices) none() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.found) == 0
}

// fold makes of very many sorted names the few ways in which they begin, each as
// long as possible and longer than what was typed. To leave some names out instead
// would have the shell go on with what the others have in common.
func fold(names []string, typed int) []string {
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	length := typed + 1
	for length < longest && beginnings(names, length+1) <= mostChoices {
		length++
	}
	var folded []string
	for i := 0; i < len(names); {
		begin, n := cutOff(names[i], length), i
		for i < len(names) && cutOff(names[i], length) == begin {
			i++
		}
		if i-n > 1 {
			begin = cobra.CompletionWithDesc(begin, fmt.Sprintf("%d begin so", i-n))
		}
		folded = append(folded, begin)
	}
	return folded
}

// beginnings counts in how many ways sorted names begin.
func beginnings(names []string, length int) int {
	count, last := 0, ""
	for _, name := range names {
		if begin := cutOff(name, length); count == 0 || begin != last {
			count, last = count+1, begin
		}
	}
	return count
}

// cutOff is the beginning of a name, and no part of a character.
func cutOff(name string, length int) string {
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
