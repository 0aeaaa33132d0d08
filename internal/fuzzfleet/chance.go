// Package fuzzfleet makes fleets with any content for fuzz tests: bundles that start as
// recordings and are changed according to a fuzzer's bytes.
package fuzzfleet

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
)

// Chance returns random numbers that a fuzzer controls: first its bytes, then numbers that follow
// from them. The same bytes make the same choices.
func Chance(data []byte) *rand.Rand {
	sum := fnv.New64a()
	_, _ = sum.Write(data)
	return rand.New(&byteSource{data, rand.NewPCG(sum.Sum64(), uint64(len(data)))})
}

// byteSource is a source of random numbers: given bytes first, then those of a generator.
type byteSource struct {
	bytes     []byte
	generator *rand.PCG
}

// Uint64 uses one byte, in every position that a choice among few values reads.
func (s *byteSource) Uint64() uint64 {
	if len(s.bytes) == 0 {
		return s.generator.Uint64()
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return binary.BigEndian.Uint64([]byte{b, b, b, b, b, b, b, b})
}
