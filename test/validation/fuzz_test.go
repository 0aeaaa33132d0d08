package validation

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"testing"
)

// tape is a random source that a fuzzer controls: its bytes come first, and then numbers that
// follow from them.
type tape struct {
	bytes []byte
	rest  *rand.PCG
}

func newTape(data []byte) *tape {
	sum := fnv.New64a()
	_, _ = sum.Write(data)
	return &tape{data, rand.NewPCG(sum.Sum64(), uint64(len(data)))}
}

// Uint64 uses a byte, at the position where a choice among few reads it.
func (t *tape) Uint64() uint64 {
	if len(t.bytes) == 0 {
		return t.rest.Uint64()
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return binary.BigEndian.Uint64([]byte{b, b, b, b, b, b, b, b})
}

// FuzzProjection searches for a pair of Jobs, or a history of one, with a status that the API
// server refuses.
func FuzzProjection(f *testing.F) {
	for sort := range byte(3) {
		f.Add([]byte{sort})
		f.Add([]byte{sort, 0x00, 0x40, 0x80, 0xc0, 0xff, 0x55, 0xaa})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		d := dice{rand.New(newTape(data[1:]))}
		switch data[0] % 3 {
		case 0:
			h := newHistory(t, d)
			p := newProjector(t, h.origin)
			h.observers = append(h.observers, p)
			h.run()
			p.conclude(h)
		case 1:
			d.nonsensical(newProjector(t, create(t, d.server(), d.job())), 12)
		default:
			d.anyPair(newProjector(t, create(t, d.server(), d.job())), map[string]int{})
		}
	})
}
