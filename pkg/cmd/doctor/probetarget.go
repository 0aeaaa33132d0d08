package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// target is a queue that a probe may be submitted to.
type target struct {
	// manager is the context of the queue.
	manager          string
	namespace, queue string
	// cluster is the ClusterQueue behind the queue, nil if it is unknown.
	cluster *kueue.ClusterQueue
	// workers are the MultiKueueClusters that the queue dispatches to.
	workers []string
}

func (t *target) String() string { return t.namespace + "/" + t.queue }

// workerContexts returns the contexts of the workers that were read. unreached has the other workers,
// each with the reason.
func (t *target) workerContexts(v *inspect.Inventory) (contexts, unreached []string) {
	if len(t.workers) == 0 {
		return nil, []string{"the workers of the queue, which are unknown"}
	}
	for _, name := range t.workers {
		manager := v.Facts(t.manager)
		switch context := v.ContextOf(manager, name); {
		case context == "":
			unreached = append(unreached, name+": "+v.WhyNoContext(manager, "it", name))
		case v.Facts(context) == nil:
			unreached = append(unreached, fmt.Sprintf("%s: context %s was %s", name, context, inspect.NotSelected))
		case !v.IsContextProven(manager, name):
			unreached = append(unreached, name+": cannot tell which context reaches it")
		default:
			contexts = append(contexts, context)
		}
	}
	return contexts, unreached
}

// choice is the user's choice of a queue; empty fields allow all.
type choice struct{ namespace, queue string }

// allows reports whether the choice includes a queue.
func (c choice) allows(t *target) bool {
	return (c.namespace == "" || c.namespace == t.namespace) && (c.queue == "" || c.queue == t.queue)
}

// ambiguousError is returned if the user has to choose a queue.
type ambiguousError struct{ targets []target }

func (e *ambiguousError) Error() string {
	var names []string
	contexts := map[string]bool{}
	for i := range e.targets {
		contexts[e.targets[i].manager] = true
	}
	for i := range e.targets {
		name := e.targets[i].String()
		if len(contexts) > 1 {
			name += " in context " + e.targets[i].manager
		}
		names = append(names, name)
	}
	hint := "Choose one with -n and --queue"
	if len(contexts) > 1 {
		hint += ", and the manager and its workers with --contexts"
	}
	return fmt.Sprintf("%d LocalQueues use MultiKueue: %s. %s", len(names), inspect.Some(names), hint)
}

// unknownTargetError is returned if contexts were not read that may have the queue of the user's choice.
type unknownTargetError struct {
	text string
	// unread is why contexts were not read.
	unread []inspect.ContextError
}

// ExitCode is 4.
func (e *unknownTargetError) ExitCode() int { return util.ExitPartial }

func (e *unknownTargetError) Error() string { return e.text }

// chooseTarget returns the queue that a probe is submitted to. If a named queue cannot be looked
// up for lack of rights, the name is used in the first context.
func chooseTarget(v *inspect.Inventory, c choice) (*target, error) {
	var found, others []target
	var forbidden []string
	for _, f := range v.Clusters {
		switch {
		case f.Err != nil || f.Kueue == nil:
			continue
		case f.Gaps[inspect.PartQueues] != nil || f.Gaps[inspect.PartChecks] != nil:
			forbidden = append(forbidden, f.Context)
		}
		for _, q := range f.Kueue.MultiKueueQueues() {
			t := target{f.Context, q.Local.Namespace, q.Local.Name, q.Cluster, q.Workers}
			if c.allows(&t) {
				found = append(found, t)
			} else {
				others = append(others, t)
			}
		}
	}
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, &ambiguousError{found}
	case len(forbidden) > 0 && c.namespace != "" && c.queue != "":
		return &target{manager: forbidden[0], namespace: c.namespace, queue: c.queue}, nil
	}
	unread := slices.DeleteFunc(v.Errors(), func(e inspect.ContextError) bool {
		return !slices.Contains([]inspect.Part{"", inspect.PartQueues, inspect.PartChecks}, e.Part)
	})
	return nil, noTarget(c, others, unread, len(forbidden) > 0)
}

// noTarget returns the error for a choice without a queue. isHidden is set if a context did not show its queues.
func noTarget(c choice, others []target, unread []inspect.ContextError, isHidden bool) error {
	what := "LocalQueue"
	if c.queue != "" {
		what += " " + c.queue
	}
	if c.namespace != "" {
		what += " in namespace " + c.namespace
	}
	text := "no " + what + " uses MultiKueue"
	if len(unread) > 0 {
		text = "cannot tell whether any " + what + " uses MultiKueue"
		if c.queue != "" {
			text = "cannot tell whether " + what + " uses MultiKueue"
		}
	}
	var names []string
	for i := range others {
		names = append(names, others[i].String())
	}
	slices.Sort(names)
	if len(names) > 0 {
		text += "; these do: " + inspect.Some(names)
	}
	switch {
	case len(unread) == 0:
		return errors.New(text + ". To see what is missing, run doctor without --probe")
	case isHidden:
		text += ". If you may not list queues, name yours with -n and --queue"
	}
	return &unknownTargetError{text, unread}
}

// withSetupFix adds to the error of a choice without a queue how to let the namespace use
// MultiKueue, if doctor without --probe knows it.
func withSetupFix(err error, findings []inspect.Finding, namespace string) error {
	if several := (*ambiguousError)(nil); errors.As(err, &several) {
		return err
	}
	for i := range findings {
		if f := &findings[i]; f.Code == "JM417" && f.Namespace == namespace {
			text := strings.TrimPrefix(f.Message, f.Subject()+": ")
			if len(f.Fixes) > 0 {
				text += fmt.Sprintf("; %s:\n  %s", f.Fixes[0].Text, command.Of(f.Fixes[0].Command...).Shell())
			}
			return errors.New(text)
		}
	}
	return err
}

// tinyRequests returns the default requests of a Pod: as little as possible of what the
// ClusterQueue covers, but some of it. Kueue never admits a Job that requests anything else, and
// admits one that requests nothing of it without MultiKueue.
func (t *target) tinyRequests() map[string]string {
	tiny := map[string]string{"cpu": "10m", "memory": "16Mi"}
	if t.cluster == nil {
		return tiny
	}
	requests := map[string]string{}
	covered := t.cluster.Covered()
	for _, name := range covered {
		if tiny[name] != "" {
			requests[name] = tiny[name]
		}
	}
	if len(requests) == 0 && len(covered) > 0 && !slices.Contains(covered, string(corev1.ResourcePods)) {
		requests[covered[0]] = "1"
	}
	return requests
}
