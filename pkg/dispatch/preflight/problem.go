package preflight

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Problem is one result of preflight. Equal Problems of several Jobs are the same Problem, and
// need to be reported only once.
type Problem struct {
	// Context is the context of the cluster with the problem.
	Context string
	// Blocking is whether nothing can be created before this is solved. Other Problems are
	// warnings.
	Blocking bool
	// NoNode is whether no node could take the Pods now. An autoscaler may add one.
	NoNode bool
	// Object is the object with the problem, such as "ConfigMap ml/settings"; "" for the Job.
	Object string
	// Message describes the problem.
	Message string
	// Remedy is the fix; "" if there is none.
	Remedy command.Prose
}

// named returns an object as Problems name it.
func named(kind, namespace, name string) string { return delegation.Named(kind, namespace, name) }

// invalidName returns a Problem if Pods refer to an object with an invalid name, which cannot
// exist; nil if the name is valid. API servers do not validate all names in Pod templates. The
// remedy contains no command with that name.
func (p Probe) invalidName(kind, namespace, name, by string) []Problem {
	wrong := validation.IsDNS1123Subdomain(name)
	if len(wrong) == 0 {
		return nil
	}
	return []Problem{{
		Context: p.Context, Blocking: true, Object: named(kind, namespace, name),
		Message: fmt.Sprintf("cannot exist, but %s needs it: %s", by, wrong[0]),
		Remedy:  "correct the name in the Pod template",
	}}
}

// unchecked returns a Problem for an object that could not be read, which does not mean that the
// object is missing.
func (p Probe) unchecked(object, namespace string, err error) Problem {
	found := Problem{Context: p.Context, Object: object, Message: "cannot be checked: " + kubecontext.Because(err)}
	if apierrors.IsForbidden(err) {
		found.Remedy = command.Say("see what you may do: %s", p.Kubectl(namespace, "auth", "can-i", "--list"))
	}
	return found
}
