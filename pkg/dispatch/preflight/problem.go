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
	// Untried is whether the server could not try the object, so that the Problem says nothing about
	// the object: a webhook or the connection failed, or a webhook supports no dry runs.
	Untried bool
	// NoNode is whether no node could take the Pods now. An autoscaler may add one.
	NoNode bool
	// Object is the object with the problem; the zero Object for the Job.
	Object Object
	// Message describes the problem.
	Message string
	// IsSentence is whether Message has a subject of its own although Object is set. Otherwise, Object
	// is its subject.
	IsSentence bool
	// Remedy is the fix; "" if there is none.
	Remedy command.Prose
	// ChangesObject is whether Remedy is first of all to change the checked object.
	ChangesObject bool
}

// Sentence returns the message with its subject, except for the Job that is checked.
func (p Problem) Sentence() string {
	if p.IsSentence || p.Object == (Object{}) {
		return p.Message
	}
	return p.Object.String() + " " + p.Message
}

// Object is what has a problem. The zero Object is the Job that is checked.
type Object struct {
	// Kind, Namespace and Name identify one object. Namespace is "" for cluster-scoped objects.
	Kind, Namespace, Name string
	// Label describes anything else, such as "the nodes". The other fields are then "".
	Label string
}

// String returns the object as Problems name it, such as "ConfigMap ml/settings"; "" for the zero
// Object.
func (o Object) String() string {
	if o.Kind == "" {
		return o.Label
	}
	return delegation.Named(o.Kind, o.Namespace, o.Name)
}

// named returns an Object with a name.
func named(kind, namespace, name string) Object {
	return Object{Kind: kind, Namespace: namespace, Name: name}
}

// labelled returns an Object without a name.
func labelled(label string) Object { return Object{Label: label} }

// thePods returns the Object for the Pods that a controller would create.
func thePods() Object { return labelled("the Pods") }

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
func (p Probe) unchecked(object Object, namespace string, err error) Problem {
	found := Problem{Context: p.Context, Untried: true, Object: object, Message: "cannot be checked: " + kubecontext.Because(err)}
	if apierrors.IsForbidden(err) {
		found.Remedy = command.Say("see what you may do: %s", p.Kubectl(namespace, "auth", "can-i", "--list"))
	}
	return found
}
