package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/plugberth/plugberth/paths"
)

// Archive is a package that was read from a zip or tar.gz archive, whole and in
// memory: nothing is unpacked to disk, and what was checked is what is used. It
// is made by [OpenArchive], [ReadZip] and [ReadTarGz], is immutable and safe for
// concurrent use. The zero value holds no files.
//
// Its files need not be a plugin: [Archive.Load] judges that.
type Archive struct{ content content }

// OpenArchive reads an archive from a file, as [ReadZip] or [ReadTarGz] does by
// what the file begins with. It fails as they do, with [ErrArchive] where it is
// neither, and with the system's error. The file may be a link but must be
// regular: a device or FIFO is not opened.
func OpenArchive(ctx context.Context, file string, bounds Bounds) (*Archive, error) {
	resolved, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	root, err := paths.Open(filepath.Dir(resolved))
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	f, err := root.Open(filepath.Base(resolved))
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("plugin: %w", err)
	}
	r, ok := f.(io.ReaderAt)
	if !ok || !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: file, Err: paths.ErrNotRegular}
	}
	magic := make([]byte, 4)
	if n, err := r.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("plugin: %w", err)
	} else if magic = magic[:n]; bytes.HasPrefix(magic, []byte("PK")) {
		return ReadZip(ctx, r, info.Size(), bounds)
	}
	if bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		return ReadTarGz(ctx, io.NewSectionReader(r, 0, info.Size()), bounds)
	}
	return nil, fmt.Errorf("%w: it is neither zip nor tar.gz", ErrArchive)
}

// ReadZip reads a zip archive of that size. It goes by what the archive really
// holds, not by what it says of itself: sizes, sums and the ratio are counted
// on the bytes that come out, the headers before the files and those at the end
// must agree, and files stand side by side, with nothing before, between or
// behind them. So no two readers can see two different packages in it.
//
// It fails with [ErrBounds]; with [ErrEntry] for links and special files, names
// that lead elsewhere or cannot be held on some system, names that stand twice,
// and names that are one where letter case or Unicode form does not count; with [ErrArchive] for
// damage, encryption, zip64 and methods other than stored and deflated; with the
// context's error.
func ReadZip(ctx context.Context, r io.ReaderAt, size int64, bounds Bounds) (*Archive, error) {
	c := newCollector(ctx, bounds)
	if err := newZipReader(r, size, c).read(); err != nil {
		return nil, archiveError(ctx, err)
	}
	return &Archive{*c.finish()}, nil
}

// ReadTarGz reads a tar archive compressed with gzip, of one member, to its end.
// Names may begin with "./", and the header that git adds to archives is
// skipped. It fails as [ReadZip] does; sparse files and headers for all entries
// count as entries that a package cannot hold.
func ReadTarGz(ctx context.Context, r io.Reader, bounds Bounds) (*Archive, error) {
	c := newCollector(ctx, bounds)
	if err := readTarGz(r, c); err != nil {
		return nil, archiveError(ctx, err)
	}
	return &Archive{*c.finish()}, nil
}

// archiveError makes what a decoder says an error of this package.
func archiveError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrBounds), errors.Is(err, ErrEntry), errors.Is(err, ErrArchive):
		return err
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrArchive, err)
}

// Load judges the archive's files as [LoadFS] does. The plugin has no directory
// and therefore no launch plan; see [Archive.Unpack].
func (a *Archive) Load(ctx context.Context, opts Options) (*Plugin, error) {
	return LoadFS(ctx, a.FS(), opts)
}

// FS returns the archive's files as a file system. A package that does not stand
// at the top of its archive is loaded with fs.Sub and [LoadFS].
func (a *Archive) FS() fs.FS { return a.content.fsys() }

// Hash returns the content hash, which is that of the same files in another
// form; see [Plugin.Hash].
func (a *Archive) Hash() string { return contentHash(a.content.sums()) }

// Unpack writes the files to a directory as [Package.WriteDir] does, whether or
// not they are a plugin that conforms. Nothing of it can land elsewhere.
func (a *Archive) Unpack(ctx context.Context, dir string, opts WriteOptions) error {
	return writeDir(ctx, &a.content, dir, opts)
}
