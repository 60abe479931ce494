package plugin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"slices"

	"github.com/plugberth/plugberth/internal/filetree"
	"github.com/plugberth/plugberth/paths"
)

// fileSum is one file of a package as hashes and comparisons see it.
type fileSum struct {
	path string
	exec bool
	sum  [sha256.Size]byte
}

// Hash returns the content hash of the package, "sha256:" and 64 hexadecimal
// digits: equal for equal files on every machine and in every form, a directory,
// a zip or tar.gz archive, or a file system.
//
// It is the SHA-256 of one record for each file, in the order of their paths'
// bytes: the SHA-256 of the file's content in lower-case hexadecimal, two
// blanks, the path relative to the plugin root with slashes, and a NUL. In a
// directory without links and without a file named "-", this computes the same
// digits:
//
//	find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z -- | sha256sum
//
// Modes, times and empty directories do not count, and links count as what they
// lead to. All files are read anew, those that are no component included. It
// fails with [ErrBounds], with [ErrEntry] where something is neither a file nor
// a directory or a link leads outside, nowhere or back, with the system's error
// and with the context's.
func (p *Plugin) Hash(ctx context.Context, bounds Bounds) (string, error) {
	sums, err := p.sums(ctx, bounds)
	if err != nil {
		return "", err
	}
	return contentHash(sums), nil
}

// Version returns the version that plugin.json declares, and the content hash
// where it declares none. It fails as [Plugin.Hash] does.
func (p *Plugin) Version(ctx context.Context, bounds Bounds) (string, error) {
	if v := p.Manifest().Version; v != "" {
		return v, nil
	}
	return p.Hash(ctx, bounds)
}

// sums reads all files of the package.
func (p *Plugin) sums(ctx context.Context, bounds Bounds) ([]fileSum, error) {
	if p.root == nil {
		return nil, nil
	}
	return sumTree(ctx, p.root, bounds)
}

// sumTree reads all files of a tree, which are sorted by path then.
func sumTree(ctx context.Context, fsys fs.FS, bounds Bounds) ([]fileSum, error) {
	bounds = bounds.withDefaults()
	var out []fileSum
	left := bounds.Total
	h := sha256.New()
	buf := make([]byte, 256<<10)
	err := filetree.Walk(ctx, fsys, bounds.Entries, func(e filetree.Entry) error {
		if e.Dir {
			return nil
		}
		limit := min(bounds.File, left)
		h.Reset()
		for n := int64(0); ; {
			if err := ctx.Err(); err != nil {
				return err
			}
			got, err := e.File.Read(buf)
			if n += int64(got); n > limit {
				return paths.ErrTooLarge
			}
			h.Write(buf[:got])
			if err == io.EOF {
				left -= n
				break
			}
			if err != nil {
				return err
			}
		}
		f := fileSum{path: e.Path, exec: e.Exec}
		h.Sum(f.sum[:0])
		out = append(out, f)
		return nil
	})
	if err != nil {
		return nil, treeError(err)
	}
	slices.SortFunc(out, func(a, b fileSum) int { return cmp.Compare(a.path, b.path) })
	return out, nil
}

// contentHash makes the content hash of files that are sorted by path.
func contentHash(sums []fileSum) string {
	h := sha256.New()
	line := make([]byte, 0, 512)
	for _, f := range sums {
		line = hex.AppendEncode(line[:0], f.sum[:])
		line = append(line, "  "...)
		line = append(line, f.path...)
		line = append(line, 0)
		h.Write(line)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
