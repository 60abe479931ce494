package plugin

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// Package is a plugin package that conforms, whole and in memory, ready to be
// written. It is made by [Draft.Build] alone, is immutable and safe for
// concurrent use. The zero value holds nothing, and writing it fails with
// fs.ErrInvalid.
type Package struct {
	content content
	plugin  *Plugin
}

// Plugin returns the package as [LoadFS] reads it with lint; its findings are
// infos, and credentials where the draft was built in spite of them. Nil for the
// zero value.
func (p *Package) Plugin() *Plugin { return p.plugin }

// FS returns the files as a file system. Files that can be executed have the
// mode 0755, others 0644.
func (p *Package) FS() fs.FS { return p.content.fsys() }

// Hash returns the content hash, which is that of every form the package is
// written in; see [Plugin.Hash].
func (p *Package) Hash() string { return contentHash(p.content.sums()) }

// Version returns the version that the manifest declares, and the content hash
// where it declares none.
func (p *Package) Version() string {
	if p.plugin != nil && p.plugin.Manifest().Version != "" {
		return p.plugin.Manifest().Version
	}
	return p.Hash()
}

// WriteZip writes the package as a zip archive. Equal packages give equal bytes
// with one release of Go, whose compression they depend on; their hash does not.
// Entries are sorted, their times are fixed, their modes 0644, and 0755 for files
// that can be executed. It fails with [ErrBounds], and writes nothing, where the
// package needs zip64, which is not read either: from 65,535 files and empty
// directories or 4 GiB on. Otherwise the error is that of w.
func (p *Package) WriteZip(w io.Writer) error {
	if p.plugin == nil {
		return errNotBuilt
	}
	if p.content.needsZip64() {
		return fmt.Errorf("%w: it is too large for a zip archive: write a tar.gz", ErrBounds)
	}
	z := zip.NewWriter(w)
	for name, f := range p.content.all() {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: fixedTime}
		mode := fs.FileMode(modeDir)
		if f != nil {
			mode = f.mode()
		} else {
			h.Name, h.Method = name+"/", zip.Store
		}
		h.SetMode(mode)
		out, err := z.CreateHeader(h)
		if err == nil && f != nil {
			_, err = out.Write(f.data)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// WriteTarGz writes the package as a tar archive compressed with gzip. What
// [Package.WriteZip] says of its bytes holds for these too.
func (p *Package) WriteTarGz(w io.Writer) error {
	if p.plugin == nil {
		return errNotBuilt
	}
	gz := gzip.NewWriter(w) // without a name or time
	t := tar.NewWriter(gz)
	for name, f := range p.content.all() {
		h := &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(modeDir.Perm()), ModTime: fixedTime}
		if f != nil {
			h = &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.mode().Perm()), Size: int64(len(f.data)), ModTime: fixedTime}
		}
		err := t.WriteHeader(h)
		if err == nil && f != nil {
			_, err = t.Write(f.data)
		}
		if err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return gz.Close()
}

// needsZip64 reports whether a zip archive may not hold the content without the
// extension, whose sizes are those of the archive: content that cannot be
// compressed and what stands around it.
func (c *content) needsZip64() bool {
	size := int64(0)
	for _, f := range c.files {
		size += int64(len(f.data)) + int64(len(f.data))/1000 + 2*int64(len(f.path)) + 256
	}
	for _, dir := range c.dirs {
		size += 2*int64(len(dir)) + 256
	}
	return len(c.files)+len(c.dirs) >= 1<<16-1 || size >= 1<<32-1
}

// fixedTime is the time of all entries: the first that zip can hold.
var fixedTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// all yields the files and empty directories by path, nil for a directory.
func (c *content) all() func(yield func(string, *contentFile) bool) {
	nodes := make(map[string]*contentFile, len(c.files)+len(c.dirs))
	for i := range c.files {
		nodes[c.files[i].path] = &c.files[i]
	}
	for _, dir := range c.dirs {
		nodes[dir] = nil
	}
	return func(yield func(string, *contentFile) bool) {
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			if !yield(name, nodes[name]) {
				return
			}
		}
	}
}

// WriteDir writes the package to a directory, whose parent must be there. What
// is written appears at once and whole, or not at all: it is made beside the
// directory, as .plugberth-new-*, and takes its place when it is complete. On Linux
// and macOS an old directory is exchanged in one step where the file system can;
// elsewhere there is a moment without either. A writer that is killed may leave it
// there, whole or without a plugin.json; a host that lists a directory of packages
// passes over names that begin with a period. Files get the mode 0644, and 0755
// where they can be executed, whatever the umask. Nothing is synced to disk.
//
// A directory that is there already is replaced if that loses nothing that the
// options do not name; see [WriteOptions]. Otherwise it fails with
// [ErrOccupied]. It fails with the system's error and with the context's.
func (p *Package) WriteDir(ctx context.Context, dir string, opts WriteOptions) error {
	if p.plugin == nil {
		return errNotBuilt
	}
	return writeDir(ctx, &p.content, dir, opts)
}
