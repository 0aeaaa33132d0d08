package delegation

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// WorkloadNames returns the possible names of the Workload that Kueue creates for an object:
// <kind>-<name>-<hash>. The hash includes the object's UID, so the name proves for which
// incarnation of the object it was created. The prefix is cut to fit 253 bytes, or 63 with the
// feature gate ShortWorkloadNames (kueue: pkg/controller/jobframework/workload_names.go). size is
// "" except for elastic objects, which have a Workload for every size: see Sizes.
func (k Kind) WorkloadNames(name, uid, size string) []string {
	text := strings.Join([]string{k.Kind, k.Resource.Group, name, uid}, "\n")
	if size != "" {
		text += "\n" + size
	}
	sum := sha1.Sum([]byte(text))
	hash := hex.EncodeToString(sum[:])[:5]
	prefix := strings.ToLower(k.Kind) + "-" + name
	names := []string{shorten(prefix, 253-len(hash)-1) + "-" + hash}
	if short := shorten(prefix, 63-len(hash)-1) + "-" + hash; short != names[0] {
		names = append(names, short)
	}
	return names
}

// searchedGenerations is the number of generations for which the Workloads of an elastic object
// are searched. searchedRayGenerations is the number of those for which RayGenerationAnnotation
// is searched, too.
const (
	searchedGenerations    = 20
	searchedRayGenerations = 3
)

// Sizes returns the values that identify the Workloads of an elastic object, for its current and
// earlier states: its generation and, if its kind has its own autoscaler, which does not change
// the object's generation, RayGenerationAnnotation after that. Earlier values of that annotation
// are unknown.
func (k Kind) Sizes(generation int64, rayGeneration string) []string {
	var all []string
	for g := generation; g > max(0, generation-searchedGenerations); g-- {
		text := strconv.FormatInt(g, 10)
		all = append(all, text)
		if len(k.RayCluster) > 0 && rayGeneration != "" && g > generation-searchedRayGenerations {
			all = append(all, text+"_"+rayGeneration)
		}
	}
	return all
}

func shorten(s string, length int) string { return s[:min(len(s), length)] }
