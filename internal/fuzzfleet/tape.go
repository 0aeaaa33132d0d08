// Package fuzzfleet makes fleets in which anything may be, for fuzz tests: bundles that
// begin as recordings, and that are changed as a fuzzer's bytes have it.
package fuzzfleet

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
)

// Chance is chance in which a fuzzer has a hand: its bytes come first, and then what
// follows from them. The same bytes make the same choices.
func Chance(data []byte) *rand.Rand {
	sum := fnv.New64a()
	_, _ = sum.Write(data)
	return rand.New(&tape{data, rand.NewPCG(sum.Sum64(), uint64(len(data)))})
}

type tape struct {
	bytes []byte
	rest  *rand.PCG
}

// Uint64 spends a byte, in every place where a choice among few looks for it.
func (t *tape) Uint64() uint64 {
	if len(t.bytes) == 0 {
		return t.rest.Uint64()
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return binary.BigEndian.Uint64([]byte{b, b, b, b, b, b, b, b})
}
