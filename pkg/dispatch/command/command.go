// Package command writes the commands that people are told to run, kubectl's and our own,
// for a shell. It runs none of them.
package command

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// KindName is what kubectl is told to name a kind by. Where a plural is that of
// several groups, kubectl takes any of them.
func KindName(k delegation.Kind) string {
	if k.IsJob() {
		return k.Name
	}
	return k.Resource.GroupResource().String()
}

// KindNameOf is the same of an object of any kind.
func KindNameOf(o *unstructured.Unstructured) string {
	gvk := o.GroupVersionKind()
	if k, ok := delegation.KindOf(gvk); ok {
		return KindName(k)
	}
	return strings.ToLower(gvk.GroupKind().String())
}

// Explained is what kubectl explain takes for a kind, to be followed by a field.
func Explained(k delegation.Kind) string {
	if k.IsJob() {
		return k.Name
	}
	return k.Resource.Resource
}

// Argument is an object of a kind as our own commands take it: [KIND/]NAME.
func Argument(k delegation.Kind, name string) string {
	if k.IsJob() {
		return name
	}
	if named, ok := delegation.KindNamed(k.Name); !ok || named.Resource.Group != k.Resource.Group {
		return k.String() + "/" + name
	}
	return k.Name + "/" + name
}

// Kubectl starts a command of kubectl: in a context, and in a namespace, or in none if
// that is "".
func Kubectl(contextName, namespace, format string, args ...any) string {
	command := "kubectl --context " + Word(contextName)
	if namespace != "" {
		command += " -n " + Word(namespace)
	}
	return command + " " + fmt.Sprintf(format, args...)
}

// Word makes one word of a text for a shell.
func Word(text string) string {
	if regexp.MustCompile(`^[\w@%+=:,./-]+$`).MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
