package plugin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
)

// A digester hashes texts so that no two series of them are the same: each is
// preceded by its length, lengths and numbers as 64-bit big-endian.
type digester struct{ h hash.Hash }

// newDigest begins with the name of what is hashed.
func newDigest(name string) digester {
	d := digester{sha256.New()}
	d.text(name)
	return d
}

func (d digester) number(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	d.h.Write(b[:])
}

func (d digester) text(s string) {
	d.number(len(s))
	d.h.Write([]byte(s))
}

func (d digester) list(texts []string) {
	d.number(len(texts))
	for _, t := range texts {
		d.text(t)
	}
}

// members hashes names and values in the order of the names' bytes.
func (d digester) members(m map[string]string) {
	d.number(len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		d.text(name)
		d.text(m[name])
	}
}

func (d digester) sum() string { return "sha256:" + hex.EncodeToString(d.h.Sum(nil)) }
