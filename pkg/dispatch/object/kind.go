package object

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// NeededFor returns the part of a sentence that says which version supports a kind's managedBy;
// "" if that is unknown.
func NeededFor(k delegation.Kind) string {
	switch {
	case k.IsJob():
		return "; Kubernetes 1.32 or later is needed"
	case k.Since != "":
		return "; " + k.Since + " or later is needed"
	}
	return ""
}

// WithArticle puts "a" or "an" in front of the name of a kind.
func WithArticle(noun string) string {
	if noun != "" && strings.ContainsRune("aeioAEIO", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Holds returns the paths of the spec fields that suspend an object of a kind.
func Holds(k delegation.Kind) [][]string {
	var paths [][]string
	for _, indicator := range k.Indicators.Suspend {
		if len(indicator.Path) > 1 && indicator.Path[0] == "spec" && !slices.ContainsFunc(paths, func(p []string) bool { return slices.Equal(p, indicator.Path) }) {
			paths = append(paths, indicator.Path)
		}
	}
	return paths
}

// Hold returns the field that suspends an object of a kind, with its value; nil if there is none.
func Hold(k delegation.Kind) (path []string, value any) {
	path, value, _ = k.Hold()
	return path, value
}

// longestManagedBy is the limit in bytes (kubernetes: pkg/apis/batch/validation/validation.go).
const longestManagedBy = 63

// ValidateManagedBy returns the error that an API server would report for a value of
// spec.managedBy. "" is valid: it means the built-in controller.
func ValidateManagedBy(value string) error {
	if value == "" {
		return nil
	}
	if len(value) > longestManagedBy {
		return fmt.Errorf("%q is not a valid spec.managedBy: it has %d bytes, the limit is %d", value, len(value), longestManagedBy)
	}
	if problems := validation.IsDomainPrefixedPath(field.NewPath("spec", "managedBy"), value); len(problems) > 0 {
		return fmt.Errorf("%q is not a valid spec.managedBy: %s. Use DOMAIN/NAME, such as %s", value, problems[0].Detail, delegation.Dispatch)
	}
	return nil
}
