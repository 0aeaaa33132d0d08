package preflight

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Problem is one thing that preflight found. Equal Problems of several Jobs are
// the same one, and need not be told twice.
type Problem struct {
	// Context is where it is.
	Context string
	// Blocking is whether nothing can be created before it is solved; others are
	// warnings.
	Blocking bool
	// Object is what it is about, such as "ConfigMap ml/settings"; "" for the Job.
	Object string
	// Message says what is wrong.
	Message string
	// Remedy says what to do; it is "" where there is nothing to do but to know it.
	Remedy command.Prose
}

// named is how a Problem names an object.
func named(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

// noName says that what pods refer to cannot exist, since no object can have its name; nil
// if one can. API servers do not look at all names in pod templates. Nothing is advised to
// be run with such a name.
func (p Probe) noName(kind, namespace, name, by string) []Problem {
	wrong := validation.IsDNS1123Subdomain(name)
	if len(wrong) == 0 {
		return nil
	}
	return []Problem{{
		Context: p.Context, Blocking: true, Object: named(kind, namespace, name),
		Message: fmt.Sprintf("cannot exist, but %s needs it: %s", by, wrong[0]),
		Remedy:  "correct the name in the pod template",
	}}
}

// unchecked says that something could not be looked at, which is not to be taken
// for something that is missing.
func (p Probe) unchecked(object, namespace string, err error) Problem {
	found := Problem{Context: p.Context, Object: object, Message: "cannot be checked: " + kubecontext.Because(err)}
	if apierrors.IsForbidden(err) {
		found.Remedy = command.Say("see what you may do: %s", p.Kubectl(namespace, "auth", "can-i", "--list"))
	}
	return found
}
