package plugin

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// memFS is content as a file system. It is immutable and safe for concurrent
// use.
type memFS map[string]*memNode

type memNode struct {
	name  string // base
	mode  fs.FileMode
	data  []byte
	below []fs.DirEntry // sorted
}

// The modes that files of a package have, wherever it is written.
const (
	modeFile = 0o644
	modeExec = 0o755
	modeDir  = fs.ModeDir | 0o755
)

func (f contentFile) mode() fs.FileMode {
	if f.exec {
		return modeExec
	}
	return modeFile
}

// fsys returns the content as a file system.
func (c *content) fsys() memFS {
	m := memFS{".": {name: ".", mode: modeDir}}
	for _, dir := range c.dirs {
		m.put(dir, modeDir, nil)
	}
	for _, f := range c.files {
		m.put(f.path, f.mode(), f.data)
	}
	for _, n := range m {
		slices.SortFunc(n.below, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return m
}

// put adds a node and the directories that it stands in.
func (m memFS) put(name string, mode fs.FileMode, data []byte) {
	n := &memNode{name: path.Base(name), mode: mode, data: data}
	m[name] = n
	parent := path.Dir(name)
	if m[parent] == nil {
		m.put(parent, modeDir, nil)
	}
	m[parent].below = append(m[parent].below, fs.FileInfoToDirEntry(n))
}

func (m memFS) find(op, name string) (*memNode, error) {
	err := fs.ErrNotExist
	if !fs.ValidPath(name) {
		err = fs.ErrInvalid
	}
	if n := m[name]; n != nil {
		return n, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: err}
}

// Open implements fs.FS.
func (m memFS) Open(name string) (fs.File, error) {
	n, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.IsDir() {
		return &memDir{memNode: n}, nil
	}
	return &memFile{Reader: bytes.NewReader(n.data), node: n}, nil
}

// Stat implements fs.StatFS.
func (m memFS) Stat(name string) (fs.FileInfo, error) {
	n, err := m.find("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ReadDir implements fs.ReadDirFS.
func (m memFS) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := m.find("readdir", name)
	if err == nil && !n.IsDir() {
		err = &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return nil, err
	}
	return slices.Clone(n.below), nil
}

// memNode is an fs.FileInfo. The time is the zero one, wherever the package
// came from.
func (n *memNode) Name() string       { return n.name }
func (n *memNode) Size() int64        { return int64(len(n.data)) }
func (n *memNode) Mode() fs.FileMode  { return n.mode }
func (n *memNode) ModTime() time.Time { return time.Time{} }
func (n *memNode) IsDir() bool        { return n.mode.IsDir() }
func (n *memNode) Sys() any           { return nil }

// memFile is an open file. Of bytes.Reader it has what an fs.File may have.
type memFile struct {
	*bytes.Reader
	node *memNode
}

func (f *memFile) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *memFile) Close() error               { return nil }

// memDir is an open directory.
type memDir struct {
	*memNode
	read int
}

func (d *memDir) Stat() (fs.FileInfo, error) { return d.memNode, nil }
func (d *memDir) Close() error               { return nil }

func (d *memDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fs.ErrInvalid}
}

func (d *memDir) ReadDir(n int) ([]fs.DirEntry, error) {
	rest := d.below[d.read:]
	if n > 0 {
		if len(rest) == 0 {
			return nil, io.EOF
		}
		rest = rest[:min(n, len(rest))]
	}
	d.read += len(rest)
	return slices.Clone(rest), nil
}
