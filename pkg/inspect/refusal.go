package inspect

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Refusal is a resource that an API server does not let a user read.
type Refusal struct {
	// User is the user, in the server's words; "" if the server does not name it.
	User string
	// Group and Resource are the denied resource, such as "kueue.x-k8s.io" and "workloads".
	Group, Resource string
	// Scope is where the user may not read it: clusterWide, "in namespace NAME", or "" if the server
	// does not say it.
	Scope string
}

// clusterWide is the scope of a request for all namespaces, or for objects without a namespace.
const clusterWide = "cluster-wide"

func (r *Refusal) String() string {
	return r.user() + " may not read " + listed(r.Group, r.Resource)
}

func (r *Refusal) user() string { return cmp.Or(r.User, "the context's user") }

// listed returns resources with their group.
func listed(group string, resources ...string) string {
	text := strings.Join(resources, ", ")
	if group != "" {
		text += " (" + group + ")"
	}
	return text
}

// RefusalOf returns the denied resource from an error; nil if the error is not a denial.
func RefusalOf(err error) *Refusal {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) || status.Status().Details == nil || status.Status().Details.Kind == "" {
		return nil
	}
	r := &Refusal{Group: status.Status().Details.Group, Resource: status.Status().Details.Kind}
	denied, _ := kubecontext.DenialIn(status.Status().Message)
	r.User = denied.User
	switch {
	case denied.Namespace != "":
		r.Scope = "in namespace " + denied.Namespace
	case denied.IsEverywhere:
		r.Scope = clusterWide
	}
	return r
}

// FoldRefusals merges the denials of one user in one context into one error, because a user with
// few rights gets many.
func FoldRefusals(errs []ContextError) []ContextError {
	type user struct{ context, user string }
	refused := map[user][]ContextError{}
	for _, e := range errs {
		if e.Refusal != nil {
			who := user{e.Context, e.Refusal.User}
			refused[who] = append(refused[who], e)
		}
	}
	var folded []ContextError
	for _, e := range errs {
		if e.Refusal == nil {
			folded = append(folded, e)
			continue
		}
		who := user{e.Context, e.Refusal.User}
		switch all := refused[who]; len(all) {
		case 0:
		case 1:
			folded = append(folded, e)
		default:
			folded = append(folded, foldRefused(all))
		}
		delete(refused, who)
	}
	return folded
}

func foldRefused(all []ContextError) ContextError {
	type place struct{ scope, group string }
	of := map[place][]string{}
	var codes []string
	for _, e := range all {
		p := place{e.Refusal.Scope, e.Refusal.Group}
		if !slices.Contains(of[p], e.Refusal.Resource) {
			of[p] = append(of[p], e.Refusal.Resource)
		}
		codes = append(codes, e.NotJudged...)
	}
	in := map[string][]string{}
	for _, p := range slices.SortedFunc(maps.Keys(of), func(a, b place) int { return cmp.Compare(a.group, b.group) }) {
		in[p.scope] = append(in[p.scope], listed(p.group, of[p]...))
	}
	var resources []string
	for _, scope := range slices.Sorted(maps.Keys(in)) {
		resources = append(resources, strings.TrimSpace(strings.Join(in[scope], ", ")+" "+scope))
	}
	e := all[0]
	text := command.Say("%s may not read %s", command.Text(e.Refusal.user()), command.Text(strings.Join(resources, ", and ")))
	slices.Sort(codes)
	if len(codes) > 0 {
		text = command.Say("%s; %s", text, WereNotChecked(slices.Compact(codes)))
	}
	e.Message = string(command.Say("%s. %s", text, kubecontext.RightsHint))
	return e
}

// WereNotChecked says that codes were not checked: "JM001 to JM003 were not checked".
func WereNotChecked(codes []string) string {
	if len(codes) == 1 {
		return codes[0] + " was not checked"
	}
	return Span(codes) + " were not checked"
}

// Span shortens a list of codes: "JM001 to JM003, JM009".
func Span(codes []string) string {
	var parts []string
	for i := 0; i < len(codes); {
		end := i
		for end+1 < len(codes) && number(codes[end+1]) == number(codes[end])+1 {
			end++
		}
		switch end - i {
		case 0:
			parts = append(parts, codes[i])
		case 1:
			parts = append(parts, codes[i], codes[end])
		default:
			parts = append(parts, codes[i]+" to "+codes[end])
		}
		i = end + 1
	}
	return strings.Join(parts, ", ")
}

func number(code string) int {
	// A test of the rules ensures that every code has a number.
	n, _ := strconv.Atoi(strings.TrimPrefix(code, "JM"))
	return n
}
