package preflight

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
)

// pods are the Pods of one template of a mirror.
type pods struct {
	podtemplate.Template
	// spec is the Pod spec, with the fields that this build knows.
	spec corev1.PodSpec
}

// podsOf returns the Pods of a mirror. unread are parts that look like templates and are
// malformed.
func podsOf(k delegation.Kind, mirror *unstructured.Unstructured) (all []pods, unread []string) {
	for _, t := range podtemplate.Of(k, mirror) {
		p := pods{Template: t}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(t.Pod(), &p.spec); err != nil {
			unread = append(unread, fmt.Sprintf("%s: %v", t.Path, err))
			continue
		}
		all = append(all, p)
	}
	return all, unread
}

// forEach returns a check of the Pods of all templates.
func (c *check) forEach(at func(context.Context, *pods) []Problem) checkFunc {
	return func(ctx context.Context) []Problem {
		looks := make([]checkFunc, len(c.templates))
		for i := range c.templates {
			looks[i] = func(ctx context.Context) []Problem { return at(ctx, &c.templates[i]) }
		}
		return distinct(runConcurrently(ctx, looks...))
	}
}

// distinct removes repeated Problems.
func distinct(found []Problem) []Problem {
	var kept []Problem
	for _, p := range found {
		if !slices.Contains(kept, p) {
			kept = append(kept, p)
		}
	}
	return kept
}

// readTemplates finds the Pods of the mirror and their references, except references to objects
// that the mirror's controller creates.
func (c *check) readTemplates() []Problem {
	var unread []string
	c.templates, unread = podsOf(c.kind, c.mirror)
	c.wrapped, _ = podtemplate.WrappedIn(c.mirror)
	c.references = slices.DeleteFunc(referencesOf(c.templates), func(r reference) bool { return c.wrapped[podtemplate.Ref{Kind: r.kind, Name: r.name}] })
	var found []Problem
	for _, what := range unread {
		found = append(found, Problem{Context: c.origin.Context, Message: "looks like a Pod template but is invalid, so it was not checked: " + what})
	}
	return found
}

// withoutWrapped removes Problems with objects that the mirror's controller creates.
func (c *check) withoutWrapped(found []Problem) []Problem {
	return slices.DeleteFunc(found, func(p Problem) bool {
		return p.Object.Namespace == c.namespace() && c.wrapped[podtemplate.Ref{Kind: p.Object.Kind, Name: p.Object.Name}]
	})
}
