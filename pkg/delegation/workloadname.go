package delegation

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// WorkloadNames are the names that Kueue can have given to the Workload of an
// object: <kind>-<name>-<hash>, where the hash holds the object's uid, so that
// the name proves which incarnation of the object it was made for. The prefix
// is cut to fit 253 bytes, or 63 with the gate ShortWorkloadNames (kueue:
// pkg/controller/jobframework/workload_names.go). size is "" but for elastic objects,
// which have a Workload for every size: see Sizes.
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

// How far back the Workloads of an elastic object are looked for, and where two things
// tell them apart.
const (
	sizes        = 20
	sizesOfTwice = 3
)

// Sizes are what the Workloads of an elastic object are told apart by, for it as it is,
// and for as it was: its generation, and, where its kind has an autoscaler of its own,
// which changes no generation of the object, RayGenerationAnnotation behind that. What
// that annotation was before, nobody knows.
func (k Kind) Sizes(generation int64, rayGeneration string) []string {
	var all []string
	for g := generation; g > max(0, generation-sizes); g-- {
		text := strconv.FormatInt(g, 10)
		all = append(all, text)
		if len(k.RayCluster) > 0 && rayGeneration != "" && g > generation-sizesOfTwice {
			all = append(all, text+"_"+rayGeneration)
		}
	}
	return all
}

func shorten(s string, length int) string { return s[:min(len(s), length)] }
