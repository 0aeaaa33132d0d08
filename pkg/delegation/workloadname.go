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
// pkg/controller/jobframework/workload_names.go). generation is 0 but for
// elastic objects, which have a Workload for every generation.
func (k Kind) WorkloadNames(name, uid string, generation int64) []string {
	text := strings.Join([]string{k.Kind, k.Resource.Group, name, uid}, "\n")
	if generation > 0 {
		text += "\n" + strconv.FormatInt(generation, 10)
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

func shorten(s string, length int) string { return s[:min(len(s), length)] }
