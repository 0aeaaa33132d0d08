package dispatch

import (
	"errors"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// Message says what is wrong, and Remedy what to do, with whole commands. Remedy
	// is "" where there is nothing to do but to know it.
	Message, Remedy string
}

// named is how a Problem names an object.
func named(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

// unchecked says that something could not be looked at, which is not to be taken
// for something that is missing.
func (s *Side) unchecked(object, namespace string, err error) Problem {
	p := Problem{Context: s.Context, Object: object, Message: "could not be checked: " + because(err)}
	if apierrors.IsForbidden(err) {
		p.Remedy = "see what you may do: " + s.kubectl(namespace, "auth can-i --list")
	}
	return p
}

// because is an error's text on one line, without the verb and URL that net/http
// puts in front.
func because(err error) string {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
