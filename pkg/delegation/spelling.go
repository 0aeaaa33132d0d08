package delegation

import "strings"

// The spelling of kinds in sentences. pkg/command has that in commands.

// Named names an object: "Job ml/train", or "Namespace ml" for a cluster-scoped one.
func Named(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

// Mentioned names an object in the middle of a sentence: "job ml/train".
func Mentioned(kind, namespace, name string) string {
	return Named(strings.ToLower(kind), namespace, name)
}

// Plural returns the plural of a kind: "Jobs". In lower case, it is the usual name of the kind's
// resource (apimachinery: meta.UnsafeGuessKindToResource).
func Plural(kind string) string {
	stem, endsWithY := strings.CutSuffix(kind, "y")
	switch {
	case endsWithY:
		return stem + "ies"
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	}
	return kind + "s"
}
