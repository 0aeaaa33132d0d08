package queues

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// queueName is a queue or cohort that the user named.
type queueName struct {
	// kind is "" if the user named no kind.
	kind queues.QueueKind
	name string
}

// parseNames parses arguments of the form [KIND/]NAME, each once. -o name prints the same form.
func parseNames(args []string, scope read.Scope) ([]queueName, error) {
	var names []queueName
	for _, arg := range args {
		kind, name, err := util.SplitName(arg)
		if err != nil {
			return nil, err
		}
		n := queueName{name: name}
		if kind != "" {
			if n.kind, err = kindOfQueue(kind); err != nil {
				return nil, err
			}
		}
		switch isLocal := n.kind == queues.KindLocalQueue; {
		case isLocal && scope == read.ClusterScope:
			return nil, fmt.Errorf("%s is in a namespace: add -n or -A", arg)
		case kind != "" && !isLocal && scope != read.ClusterScope:
			return nil, fmt.Errorf("%s is in no namespace: leave out --namespace and --all-namespaces", arg)
		}
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names, nil
}

// kindOfQueue returns the kind with a name, which may have a group.
func kindOfQueue(name string) (queues.QueueKind, error) {
	for _, k := range util.QueueKinds() {
		if k.IsNamed(name) {
			return queues.QueueKind(k.Kind), nil
		}
	}
	return "", fmt.Errorf("unknown kind %q; choose one of clusterqueue, cohort, localqueue", name)
}

// isOf reports whether a name means a queue or cohort of a kind.
func (n queueName) isOf(kind queues.QueueKind, name string) bool {
	return n.name == name && (n.kind == "" || n.kind == kind)
}

// covers reports whether a row is of the named queue or cohort, or of a member of the named cohort. The
// cohort of a LocalQueue is none of its names.
func (n queueName) covers(row *queues.QueueQuota) bool {
	isMember := row.Kind != queues.KindLocalQueue && slices.ContainsFunc(row.Cohorts, func(cohort string) bool { return n.isOf(queues.KindCohort, cohort) })
	return isMember || n.isOf(row.Kind, row.Name)
}

// plainNames returns the names without their kinds.
func plainNames(names []queueName) []string {
	var plain []string
	for _, n := range names {
		plain = append(plain, n.name)
	}
	return plain
}

// addMissing adds the names that were not found.
func (r *queuesRead) addMissing(names []queueName, isFound func(queueName) bool) {
	for _, n := range names {
		if !isFound(n) {
			r.Missing = append(r.Missing, n)
		}
	}
}

// missingError returns an error for the names without a queue. If not all queues could be read, the
// error says so.
func (o *queuesOptions) missingError(r *queuesRead) error {
	if len(r.Missing) == 0 {
		return nil
	}
	what, hint := "queue or cohort", "; for a LocalQueue, add -n or -A"
	if o.scope != read.ClusterScope {
		what, hint = "LocalQueue", "; for a ClusterQueue or cohort, leave out -n and -A"
	}
	var quoted []string
	isAnyKind := false
	for _, n := range r.Missing {
		isAnyKind = isAnyKind || n.kind == ""
		quoted = append(quoted, fmt.Sprintf("%q", n.name))
	}
	if kind := r.Missing[0].kind; len(r.Missing) == 1 && kind != "" {
		what = string(kind)
	}
	text := fmt.Sprintf("there is no %s %s", what, strings.Join(quoted, " or ")) + o.where()
	if len(r.List.Errors)+len(r.Notes) > 0 {
		text += " on the contexts that were read"
	}
	if isAnyKind {
		text += hint
	}
	if o.watch {
		util.Report(o.ErrOut, "note: %s", text)
		return nil
	}
	return errors.New(text)
}

// where returns the namespaces in which LocalQueues were read, in words.
func (o *queuesOptions) where() string {
	if o.scope != read.NamespaceScope {
		return ""
	}
	namespaces := []string{}
	for _, c := range o.contexts {
		if !slices.Contains(namespaces, c.Namespace) {
			namespaces = append(namespaces, c.Namespace)
		}
	}
	return " in namespace " + strings.Join(namespaces, ", ")
}
