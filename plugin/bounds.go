package plugin

import (
	"errors"
	"fmt"

	"github.com/plugberth/plugberth/internal/printable"
)

// Bounds limit how much of one package is read into memory, hashed or compared.
// Zero or less in a field means its default.
type Bounds struct {
	Entries int   // files and directories, default 10,000
	File    int64 // bytes of one file, default 64 MiB
	Total   int64 // bytes of all files together, default 256 MiB
	// Ratio is how many times as large as an archive its files may be, beyond the
	// first MiB; default 100. It counts for archives alone.
	Ratio int64
}

func (b Bounds) withDefaults() Bounds {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	if b.Entries <= 0 {
		b.Entries = 10_000
	}
	set(&b.File, 64<<20)
	set(&b.Total, 256<<20)
	set(&b.Ratio, 100)
	return b
}

// entryOverhead is what an archive may spend on one entry beside its content.
const entryOverhead = 4 << 10

// packed is how large an archive of a package within the bounds can be, with or
// without compression.
func (b Bounds) packed() int64 {
	return min(b.Total, maxBytes) + min(b.Total, maxBytes)/1000 + min(int64(b.Entries), maxCount)*entryOverhead + 1<<20
}

// unpacked is how much an archive of that size may hold by the ratio.
func (b Bounds) unpacked(size int64) int64 {
	if size > maxBytes/b.Ratio {
		return maxBytes
	}
	return 1<<20 + size*b.Ratio
}

// They keep sums of bounds from overflowing.
const (
	maxBytes = 1 << 60
	maxCount = 1 << 40
)

// Errors of reading, hashing and writing packages, for errors.Is.
var (
	// ErrBounds: there is more than the [Bounds] allow.
	ErrBounds = errors.New("plugin: the package is over the bounds")
	// ErrEntry: the package has an entry that cannot travel in one: a link in an
	// archive or one that leads outside, a device or another special file,
	// a name that leads elsewhere, or two names that are one on some systems.
	ErrEntry = errors.New("plugin: the package has an entry that it cannot hold")
	// ErrArchive: the archive is damaged, or readers may disagree about what it
	// holds.
	ErrArchive = errors.New("plugin: not a sound archive")
)

// entryError is about one entry of a package.
func entryError(kind error, name, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", kind, printable.Quote(name), fmt.Errorf(format, args...))
}
