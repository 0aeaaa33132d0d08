package rules_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
)

// ownCommand is one of our commands in a remedy.
type ownCommand struct {
	text, verb, kind, name string
	// flags are the values of its flags, "" for those without one.
	flags map[string]string
}

// ownCommands returns our commands that write, from the fixes of findings.
func ownCommands(t *testing.T, findings []inspect.Finding) map[string]ownCommand {
	t.Helper()
	all := map[string]ownCommand{}
	for _, f := range findings {
		for _, part := range command.Prose(f.Remedy).Parts() {
			text, isOurs := strings.CutPrefix(part.Text, "kubectl jobs-managedby ")
			if !part.IsCommand || !isOurs {
				continue
			}
			words := shelltest.Words(t, text)
			c := ownCommand{text: f.Code + ": " + part.Text, verb: words[0], name: words[1], flags: map[string]string{}}
			if kind, name, hasKind := strings.Cut(c.name, "/"); hasKind {
				c.kind, c.name = kind, name
			}
			for i := 2; i < len(words); i++ {
				flag := words[i]
				c.flags[flag] = ""
				if flag != "--force" && flag != advice.NewMirrorFlag {
					i++
					c.flags[flag] = words[i]
				}
			}
			all[part.Text] = c
		}
	}
	return all
}

// TestOwnFixes checks that our commands take the fixes that we print: for each fix with recreate or dispatch,
// the command accepts the object as it is in the cluster.
func TestOwnFixes(t *testing.T) {
	t.Parallel()
	obeyed := map[string]int{}
	check := func(t *testing.T, dir string, findings []inspect.Finding) {
		t.Helper()
		var o opened
		for _, c := range ownCommands(t, findings) {
			if c.verb != "recreate" && c.verb != "dispatch" {
				continue
			}
			if o.fleet == nil {
				o = open(t, dir)
			}
			obeyed[c.verb]++
			objection := obey(t, o.fleet, c)
			if objection != nil {
				t.Errorf("%s: %s\nis refused: %v", dir, c.text, objection)
			}
		}
	}
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	for _, e := range entries {
		if e.IsDir() {
			dir := filepath.Join(recordings, e.Name())
			check(t, dir, judge(t, inventory(t, dir), rules.All(), 0))
		}
	}
	for _, c := range cases() {
		if !c.fires || strings.HasPrefix(c.code, "JM4") {
			continue
		}
		findings := judge(t, c.inventory(t), rules.All(), 0)
		if len(ownCommands(t, findings)) > 0 {
			check(t, c.bundle(t), findings)
		}
	}
	assert.Assert(t, obeyed["recreate"] > 30 && obeyed["dispatch"] > 10, "%v", obeyed)
}

// obey returns the objection of one of our commands to its object, nil if it has none.
func obey(t *testing.T, f *fleet.Fleet, c ownCommand) error {
	t.Helper()
	clusters := f.Clusters()
	at := slices.IndexFunc(clusters, func(cluster *fleet.Cluster) bool { return cluster.Context == c.flags["--context"] })
	assert.Assert(t, at >= 0, c.text)
	cluster, kind := clusters[at], delegation.Job()
	if c.kind != "" {
		kind = kindRow(c.kind)
	}
	stored, err := cluster.Get(t.Context(), kind.Resource, c.flags["-n"], c.name)
	assert.NilError(t, err)
	assert.Assert(t, stored != nil, c.text)
	if spec, _ := stored.Object["spec"].(map[string]any); kind.IsJob() && spec["template"] == nil {
		// Cases leave out what no rule reads.
		spec["template"] = map[string]any{"spec": map[string]any{}}
	}
	if c.verb == "dispatch" {
		return objectToDispatch(kind, stored, c)
	}
	o := recreate.Options{Kind: kind, Context: c.flags["--context"], ManagedBy: c.flags["--managed-by"], Submitted: recreate.FindSubmitted(t.Context(), cluster, kind, stored)}
	_, o.Force = c.flags["--force"]
	queue, hasQueue := c.flags["--queue"]
	if hasQueue {
		queue = strings.ReplaceAll(queue, advice.QueuePlaceholder, "user-queue")
		o.Queue = &queue
	}
	p, err := recreate.New(stored, o)
	if err != nil {
		return err
	}
	return (&recreate.Runner{Cluster: cluster, ReadOnly: true}).Check(t.Context(), p)
}

// objectToDispatch returns the objection of dispatch to an origin, nil if it has none.
func objectToDispatch(kind delegation.Kind, stored *unstructured.Unstructured, c ownCommand) error {
	if object.HasFinished(kind, stored) {
		// dispatch completes the end of its mirror.
		if _, leaves := delegation.ReadCancelledMark(stored.GetAnnotations()[delegation.CancelledAnnotation], string(stored.GetUID())); leaves {
			return errors.New("dispatch does nothing, because cancel has left the mirror")
		}
		return nil
	}
	_, err := plan.New(stored, plan.Options{Kind: kind, Owner: delegation.Owner(c.flags["--managed-by"]), Context: c.flags["--context"]})
	return err
}
