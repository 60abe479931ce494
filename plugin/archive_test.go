package plugin_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/plugberth/plugberth/plugin"
)

// rawEntry is one entry of a zip archive, with whatever its headers should say.
type rawEntry struct {
	name    string
	data    string
	method  uint16
	flags   uint16
	creator uint16
	attrs   uint32
	extra   string                // of both headers
	local   func(h []byte) string // changes the local header, returns its name
	central func(h []byte) string // likewise of the directory
	packed  []byte                // in place of what data gives
	behind  string                // between this entry and the next
	share   int                   // 1 + the index of the entry whose content this one points to
}

// rawZip writes an archive byte by byte.
func rawZip(entries []rawEntry, change func(z *bytes.Buffer, end []byte) []byte) []byte {
	le := binary.LittleEndian
	var out, dir bytes.Buffer
	offsets := make([]int, len(entries))
	for i, e := range entries {
		packed := e.packed
		if packed == nil {
			packed = []byte(e.data)
			if e.method == 8 {
				var b bytes.Buffer
				w, _ := flate.NewWriter(&b, 9)
				io.WriteString(w, e.data)
				w.Close()
				packed = b.Bytes()
			}
		}
		sum := crc32.ChecksumIEEE([]byte(e.data))
		offsets[i] = out.Len()
		h := make([]byte, 30)
		copy(h, "PK\x03\x04")
		le.PutUint16(h[4:], 20)
		le.PutUint16(h[6:], e.flags)
		le.PutUint16(h[8:], e.method)
		le.PutUint32(h[14:], sum)
		le.PutUint32(h[18:], uint32(len(packed)))
		le.PutUint32(h[22:], uint32(len(e.data)))
		le.PutUint16(h[28:], uint16(len(e.extra)))
		name := e.name
		if e.local != nil {
			name = e.local(h)
		}
		le.PutUint16(h[26:], uint16(len(name)))
		if e.share == 0 {
			out.Write(h)
			out.WriteString(name + e.extra)
			out.Write(packed)
			out.WriteString(e.behind)
		} else {
			offsets[i] = offsets[e.share-1]
		}
		c := make([]byte, 46)
		copy(c, "PK\x01\x02")
		le.PutUint16(c[4:], 20|e.creator<<8)
		le.PutUint16(c[6:], 20)
		copy(c[8:], h[6:26]) // flags to sizes
		le.PutUint16(c[8:], e.flags)
		le.PutUint16(c[10:], e.method)
		le.PutUint32(c[16:], sum)
		le.PutUint32(c[20:], uint32(len(packed)))
		le.PutUint32(c[24:], uint32(len(e.data)))
		le.PutUint16(c[30:], uint16(len(e.extra)))
		le.PutUint32(c[38:], e.attrs)
		le.PutUint32(c[42:], uint32(offsets[i]))
		name = e.name
		if e.central != nil {
			name = e.central(c)
		}
		le.PutUint16(c[28:], uint16(len(name)))
		dir.Write(c)
		dir.WriteString(name + e.extra)
	}
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	le.PutUint16(end[8:], uint16(len(entries)))
	le.PutUint16(end[10:], uint16(len(entries)))
	le.PutUint32(end[12:], uint32(dir.Len()))
	le.PutUint32(end[16:], uint32(out.Len()))
	out.Write(dir.Bytes())
	if change != nil {
		return change(&out, end)
	}
	out.Write(end)
	return out.Bytes()
}

// zipOf writes entries that are as good as any.
func zipOf(entries ...rawEntry) []byte {
	return rawZip(append([]rawEntry{{name: "plugin.json", data: smallManifest, method: 8}}, entries...), nil)
}

// named is an entry in all else good.
func named(name string) rawEntry { return rawEntry{name: name, data: "x", flags: 1 << 11} }

// tarOf writes a tar.gz archive of headers, with x for content.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, h := range append([]tar.Header{{Name: "plugin.json", Typeflag: tar.TypeReg}}, headers...) {
		data := "x"
		if h.Name == "plugin.json" {
			data = smallManifest
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(data))
		}
		if h.Typeflag != tar.TypeXGlobalHeader {
			h.Mode |= 0o644
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(tw, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return gzipped(b.Bytes())
}

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func gunzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// attack is an archive and why it is refused; nil where it is not.
type attack struct {
	name string
	data func(t testing.TB) []byte
	want error
}

// slips are names that lead elsewhere on some system.
var slips = []string{
	"../x", "../../../../etc/passwd", "a/../../x", "a/..", "..", ".", "a/./x", "/etc/passwd", "//host/share/x", "///x", `..\x`, `a\..\..\x`, `\x`, `\\host\share\x`, `C:\x`, "C:/x", "C:x", "./../x", "././x",
	"a//x", "x\x00.md", "a:stream", "CON", "a/nul.txt", "a.", "a /x", "...", ".. /x", "x\n", "a\u200b", "a\u202eb", strings.Repeat("a/", 200) + "x", strings.Repeat("x", 300), strings.Repeat("long/", 300) + "x",
}

// collisions are pairs of names of which a package can hold one.
var collisions = [][2]string{
	{"x", "x"}, {"a/x", "A/y"}, {"README", "readme"}, {"\u00e9", "e\u0301"}, {"stra\u00dfe", "STRASSE"}, {"\u212a", "k"}, {"\u017f", "s"}, {"a", "a/b"}, {"a/b", "a"}, {"Skills/a", "skills/b"}, {"\uac00", "\u1100\u1161"}, {"d/", "D/"}, {"d/", "d/"}, {"d", "d/"},
}

// TestArchiveAttacks: hostile archives are refused, each for its reason, soon
// and in little memory. [X5] [Q1]
func TestArchiveAttacks(t *testing.T) {
	raw := func(entries ...rawEntry) func(testing.TB) []byte {
		return func(testing.TB) []byte { return zipOf(entries...) }
	}
	tarred := func(headers ...tar.Header) func(testing.TB) []byte {
		return func(t testing.TB) []byte { return tarOf(t, headers...) }
	}
	end := func(change func(z *bytes.Buffer, end []byte) []byte) func(testing.TB) []byte {
		return func(testing.TB) []byte {
			return rawZip([]rawEntry{{name: "plugin.json", data: smallManifest}, named("x")}, change)
		}
	}
	le := binary.LittleEndian
	local := func(change func(h []byte)) rawEntry {
		e := named("x")
		e.local = func(h []byte) string { change(h); return "x" }
		return e
	}
	central := func(change func(h []byte)) rawEntry {
		e := named("x")
		e.central = func(h []byte) string { change(h); return "x" }
		return e
	}
	reg := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	attacks := []attack{
		{"zip: nothing wrong", raw(named("x"), rawEntry{name: "d/"}, rawEntry{name: "d/y", data: "y", method: 8}), nil},
		{"zip: ./ before names", raw(named("./x")), nil},
		{"zip: a comment", end(func(z *bytes.Buffer, end []byte) []byte {
			le.PutUint16(end[20:], 6)
			return append(append(z.Bytes(), end...), "commit"...)
		}), nil},
		{"zip: flags of a streamed entry", raw(rawEntry{name: "x", data: "x", flags: 8, behind: descriptor("x", 1, 12)}), nil},
		{"zip: a descriptor with a signature", raw(rawEntry{name: "x", data: "x", flags: 8, behind: descriptor("x", 1, 16)}), nil},
		{"zip: a long descriptor", raw(rawEntry{name: "x", data: "x", flags: 8, behind: descriptor("x", 1, 24)}), nil},
		{"zip: a wrong descriptor", raw(rawEntry{name: "x", data: "x", flags: 8, behind: descriptor("y", 1, 16)}), plugin.ErrArchive},
		{"zip: a descriptor too many", raw(rawEntry{name: "x", data: "x", behind: descriptor("x", 1, 16)}), plugin.ErrArchive},
		{"zip: no descriptor", raw(rawEntry{name: "x", data: "x", flags: 8}), plugin.ErrArchive},
		{"zip: a large gap behind a descriptor", raw(rawEntry{name: "x", data: "x", flags: 8, behind: strings.Repeat("x", 100)}), plugin.ErrArchive},

		{"zip: a link", raw(rawEntry{name: "x", data: "/etc/passwd", creator: 3, attrs: 0o120777 << 16}), plugin.ErrEntry},
		{"zip: a link of another creator", raw(rawEntry{name: "x", data: "/etc/passwd", attrs: 0o120777 << 16}), plugin.ErrEntry},
		{"zip: a link by an extra field", raw(rawEntry{name: "x", data: "x", extra: extra(0x756e, strings.Repeat("x", 14)+"/etc/passwd")}), plugin.ErrEntry},
		{"zip: a link by an old extra field", raw(rawEntry{name: "x", data: "x", extra: extra(0x000d, strings.Repeat("x", 12)+"/etc/passwd")}), plugin.ErrEntry},
		{"zip: a device", raw(rawEntry{name: "x", creator: 3, attrs: 0o020666 << 16}), plugin.ErrEntry},
		{"zip: a FIFO", raw(rawEntry{name: "x", creator: 3, attrs: 0o010666 << 16}), plugin.ErrEntry},
		{"zip: a directory by its mode", raw(rawEntry{name: "x", creator: 3, attrs: 0o040755 << 16}), plugin.ErrEntry},
		{"zip: a directory by its attributes", raw(rawEntry{name: "x", attrs: 0x10}), plugin.ErrEntry},
		{"zip: a file by its mode", raw(rawEntry{name: "x/", creator: 3, attrs: 0o100644 << 16}), plugin.ErrEntry},
		{"zip: a directory with content", raw(rawEntry{name: "x/", data: "x"}), plugin.ErrEntry},
		{"zip: a directory with hidden content", raw(rawEntry{name: "x/", packed: []byte("x"), central: func(h []byte) string { le.PutUint32(h[20:], 0); return "x/" }}), plugin.ErrArchive},
		{"zip: a second name", raw(rawEntry{name: "x", data: "x", extra: extra(0x7075, "\x01\x00\x00\x00\x00../y")}), plugin.ErrEntry},
		{"zip: the name again", raw(rawEntry{name: "x", data: "x", extra: extra(0x7075, "\x01\x00\x00\x00\x00x")}), nil},
		{"zip: extra fields cut short", raw(rawEntry{name: "x", data: "x", extra: "\x75\x70\xff\x00x"}), plugin.ErrArchive},
		{"zip: a name that is not marked as UTF-8", raw(rawEntry{name: "\u00e9", data: "x"}), plugin.ErrEntry},
		{"zip: a name that is not UTF-8", raw(named("\xff")), plugin.ErrEntry},

		{"zip: two names", raw(rawEntry{name: "x", data: "x", local: func([]byte) string { return "y" }}), plugin.ErrArchive},
		{"zip: a longer local name", raw(rawEntry{name: "x", data: "x", local: func([]byte) string { return "x/../../y" }}), plugin.ErrArchive},
		{"zip: two methods", raw(local(func(h []byte) { le.PutUint16(h[8:], 8) })), plugin.ErrArchive},
		{"zip: two sums", raw(local(func(h []byte) { le.PutUint32(h[14:], 1) })), plugin.ErrArchive},
		{"zip: two sizes", raw(local(func(h []byte) { le.PutUint32(h[22:], 9) })), plugin.ErrArchive},
		{"zip: two packed sizes", raw(local(func(h []byte) { le.PutUint32(h[18:], 0) })), plugin.ErrArchive},
		{"zip: streamed in one header alone", raw(local(func(h []byte) { le.PutUint16(h[6:], 8|1<<11) })), plugin.ErrArchive},
		{"zip: encrypted", raw(rawEntry{name: "x", data: "x", flags: 1}), plugin.ErrArchive},
		{"zip: encrypted in the local header alone", raw(local(func(h []byte) { le.PutUint16(h[6:], 1|1<<11) })), plugin.ErrArchive},
		{"zip: a method that is not read", raw(rawEntry{name: "x", data: "x", method: 12}), plugin.ErrArchive},
		{"zip: a wrong sum", raw(rawEntry{name: "x", data: "x", packed: []byte("y")}), plugin.ErrArchive},
		{"zip: larger than it says", raw(rawEntry{name: "x", data: "x", method: 8, packed: deflated(strings.Repeat("x", 1000))}), plugin.ErrArchive},
		{"zip: smaller than it says", raw(rawEntry{name: "x", data: strings.Repeat("x", 1000), method: 8, packed: deflated("x")}), plugin.ErrArchive},
		{"zip: content behind the content", raw(rawEntry{name: "x", data: "x", method: 8, packed: append(deflated("x"), "hidden"...)}), plugin.ErrArchive},
		{"zip: damaged content", raw(rawEntry{name: "x", data: "x", method: 8, packed: []byte("\xff\xff\xff")}), plugin.ErrArchive},
		{"zip: another part", raw(central(func(h []byte) { le.PutUint16(h[34:], 1) })), plugin.ErrArchive},
		{"zip: zip64", raw(central(func(h []byte) { le.PutUint32(h[20:], 1<<32-1) })), plugin.ErrArchive},

		{"zip: two entries share their content", raw(named("x"), rawEntry{name: "y", data: "x", share: 3}), plugin.ErrArchive},
		{"zip: one entry listed twice", raw(named("x"), rawEntry{name: "x", data: "x", share: 2}), plugin.ErrArchive},
		{"zip: entries overlap", raw(rawEntry{name: "x", data: string(zipOf(named("y"))[len(zipOf())-22-57:]), central: func(h []byte) string { le.PutUint32(h[42:], le.Uint32(h[42:])+1); return "x" }}), plugin.ErrArchive},
		{"zip: an entry that is not listed", raw(rawEntry{name: "x", data: "x", behind: "PK\x03\x04 hidden"}), plugin.ErrArchive},
		{"zip: an offset beyond the archive", raw(central(func(h []byte) { le.PutUint32(h[42:], 1<<31) })), plugin.ErrArchive},
		{"zip: a size beyond the archive", raw(central(func(h []byte) { le.PutUint32(h[20:], 1<<30); le.PutUint32(h[24:], 1<<20) })), plugin.ErrArchive},
		{"zip: text before it", func(testing.TB) []byte { return append([]byte("#!/bin/sh\n"), zipOf(named("x"))...) }, plugin.ErrArchive},
		{"zip: text behind it", func(testing.TB) []byte { return append(zipOf(named("x")), "more"...) }, plugin.ErrArchive},
		{"zip: padded with zeros", func(testing.TB) []byte { return append(zipOf(named("x")), make([]byte, 4096)...) }, plugin.ErrArchive},
		{"zip: two archives in one file", func(testing.TB) []byte { return append(zipOf(named("x")), zipOf(named("y"))...) }, plugin.ErrArchive},
		{"zip: a second end in the comment", end(func(z *bytes.Buffer, end []byte) []byte {
			second := slices.Clone(end)
			le.PutUint16(end[20:], uint16(len(second)+1))
			return append(append(append(z.Bytes(), end...), second...), 'x')
		}), plugin.ErrArchive},
		{"zip: cut short", func(testing.TB) []byte { z := zipOf(named("x")); return z[:len(z)-1] }, plugin.ErrArchive},
		{"zip: the end alone", func(testing.TB) []byte { z := zipOf(named("x")); return z[len(z)-22:] }, plugin.ErrArchive},
		{"zip: empty", func(testing.TB) []byte { return nil }, plugin.ErrArchive},
		{"zip: more entries than are listed", end(func(z *bytes.Buffer, end []byte) []byte {
			le.PutUint16(end[8:], 9)
			le.PutUint16(end[10:], 9)
			return append(z.Bytes(), end...)
		}), plugin.ErrArchive},
		{"zip: fewer entries than are listed", end(func(z *bytes.Buffer, end []byte) []byte {
			le.PutUint16(end[8:], 1)
			le.PutUint16(end[10:], 1)
			return append(z.Bytes(), end...)
		}), plugin.ErrArchive},
		{"zip: one of several parts", end(func(z *bytes.Buffer, end []byte) []byte { le.PutUint16(end[4:], 1); return append(z.Bytes(), end...) }), plugin.ErrArchive},
		{"zip: zip64 at the end", end(func(z *bytes.Buffer, end []byte) []byte {
			le.PutUint32(end[16:], 1<<32-1)
			return append(z.Bytes(), end...)
		}), plugin.ErrArchive},
		{"zip: a zip64 record before the end", end(func(z *bytes.Buffer, end []byte) []byte {
			return append(append(z.Bytes(), "PK\x06\x06"+strings.Repeat("\x00", 52)+"PK\x06\x07"+strings.Repeat("\x00", 16)...), end...)
		}), plugin.ErrArchive},
		{"zip: zip64 hidden in a comment", func(testing.TB) []byte { return hiddenZip64() }, plugin.ErrArchive},
		{"zip: stored and streamed, with an end and another entry inside", raw(streamed("x" + descriptor("x", 1, 16) + "PK\x03\x04 hidden")), plugin.ErrArchive},
		{"zip: stored and streamed, with a header inside", raw(streamed(strings.Repeat("x", 4094) + "PK\x03\x04")), plugin.ErrArchive},
		{"zip: stored and streamed, with the directory inside", raw(streamed("PK\x01\x02")), plugin.ErrArchive},
		{"zip: stored and streamed, with nothing of the kind", raw(streamed("PK\x03 PK\x04 PK")), nil},
		{"zip: an archive inside, with its size before it", raw(rawEntry{name: "x.zip", data: string(zipOf())}), nil},
		{"zip: a huge directory", func(testing.TB) []byte {
			entries := make([]rawEntry, 6000)
			for i := range entries {
				entries[i] = rawEntry{name: fmt.Sprint(i), extra: extra(1, strings.Repeat("x", 200))}
			}
			return rawZip(entries, nil)
		}, plugin.ErrBounds},
		{"zip: many files of one archive", func(testing.TB) []byte {
			entries := make([]rawEntry, 600)
			for i := range entries {
				entries[i] = named(fmt.Sprint(i))
			}
			return rawZip(entries, nil)
		}, plugin.ErrBounds},
		{"zip: many directories in few names", func(testing.TB) []byte {
			entries := make([]rawEntry, 100)
			for i := range entries {
				entries[i] = named(fmt.Sprint(i, "/", strings.Repeat("a/", 90), "x"))
			}
			return rawZip(entries, nil)
		}, plugin.ErrBounds},
		{"zip: a bomb", func(testing.TB) []byte {
			return zipOf(rawEntry{name: "x", data: strings.Repeat("\x00", 3<<20), method: 8})
		}, plugin.ErrBounds},
		{"zip: a bomb that lies", func(testing.TB) []byte {
			return zipOf(rawEntry{name: "x", data: "x", method: 8, packed: deflated(strings.Repeat("\x00", 6<<20))})
		}, plugin.ErrArchive},
		{"zip: a bomb of many files", func(testing.TB) []byte {
			packed := deflated(strings.Repeat("\x00", 1<<20))
			var entries []rawEntry
			for i := range 6 {
				entries = append(entries, rawEntry{name: fmt.Sprint(i), data: strings.Repeat("\x00", 1<<20), method: 8, packed: packed})
			}
			return rawZip(entries, nil)
		}, plugin.ErrBounds},
		{"zip: overlapping bomb", func(testing.TB) []byte {
			packed := deflated(strings.Repeat("\x00", 1<<20))
			entries := []rawEntry{{name: "k", data: strings.Repeat("\x00", 1<<20), method: 8, packed: packed}}
			for i := range 20 {
				entries = append(entries, rawEntry{name: fmt.Sprint(i), data: strings.Repeat("\x00", 1<<20), method: 8, packed: packed, share: 1})
			}
			return rawZip(entries, nil)
		}, plugin.ErrArchive},
		{"zip: a large file", func(testing.TB) []byte { return zipOf(rawEntry{name: "x", data: strings.Repeat("x", 1<<20+1)}) }, plugin.ErrBounds},

		{"tar: nothing wrong", tarred(reg("./x"), tar.Header{Name: "./", Typeflag: tar.TypeDir}, tar.Header{Name: "d/", Typeflag: tar.TypeDir}), nil},
		{"tar: a long name in a PAX header", tarred(tar.Header{Name: strings.Repeat("d/", 80) + "\u00e9", Typeflag: tar.TypeReg, Format: tar.FormatPAX}), nil},
		{"tar: a long GNU name", tarred(tar.Header{Name: strings.Repeat("d/", 80) + "x", Typeflag: tar.TypeReg, Format: tar.FormatGNU}), nil},
		{"tar: a GNU name too long", tarred(tar.Header{Name: strings.Repeat("long/", 1000) + "x", Typeflag: tar.TypeReg, Format: tar.FormatGNU}), plugin.ErrEntry},
		{"tar: a PAX name that leads outside", tarred(tar.Header{Name: "x/" + strings.Repeat("../", 60) + "y", Typeflag: tar.TypeReg, Format: tar.FormatPAX}), plugin.ErrEntry},
		{"tar: a huge PAX record", func(testing.TB) []byte { return gzipped(longPAX()) }, plugin.ErrArchive},
		{"tar: the header of git", tarred(tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "0123"}}, reg("x")), nil},
		{"tar: a header for all entries", tarred(tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "../x"}}, reg("x")), plugin.ErrEntry},
		{"tar: a link", tarred(tar.Header{Name: "x", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}), plugin.ErrEntry},
		{"tar: a link to write through", tarred(tar.Header{Name: "d", Linkname: "/tmp", Typeflag: tar.TypeSymlink}, reg("d/x")), plugin.ErrEntry},
		{"tar: a hard link", tarred(tar.Header{Name: "x", Linkname: "plugin.json", Typeflag: tar.TypeLink}), plugin.ErrEntry},
		{"tar: a character device", tarred(tar.Header{Name: "x", Typeflag: tar.TypeChar}), plugin.ErrEntry},
		{"tar: a block device", tarred(tar.Header{Name: "x", Typeflag: tar.TypeBlock}), plugin.ErrEntry},
		{"tar: a FIFO", tarred(tar.Header{Name: "x", Typeflag: tar.TypeFifo}), plugin.ErrEntry},
		{"tar: a contiguous file", tarred(tar.Header{Name: "x", Typeflag: tar.TypeCont}), plugin.ErrEntry},
		{"tar: a type that is unknown", tarred(tar.Header{Name: "x", Typeflag: 'Z'}), plugin.ErrEntry},
		{"tar: a sparse file", func(testing.TB) []byte { return gzipped(sparseTar()) }, plugin.ErrEntry},
		{"tar: a sparse file in a PAX header", func(t testing.TB) []byte { return gzipped(sparsePAX(t)) }, plugin.ErrEntry},
		{"tar: a sparse file of star", func(testing.TB) []byte { return rawTar(paxHeader("SCHILY.realsize=4096"), regular("x", 1)) }, plugin.ErrEntry},
		{"tar: a PAX header", func(testing.TB) []byte { return rawTar(paxHeader("path=y", "mtime=1"), regular("x", 1)) }, nil},
		{"tar: a second size", func(testing.TB) []byte { return rawTar(paxHeader("size=512"), regular("x", 0), regular("y", 0)) }, plugin.ErrArchive},
		{"tar: a second name in a GNU header", func(testing.TB) []byte { return rawTar(paxHeader("path=y"), longName("z"), regular("x", 1)) }, plugin.ErrArchive},
		{"tar: a second name in a PAX header", func(testing.TB) []byte { return rawTar(longName("z"), paxHeader("path=y"), regular("x", 1)) }, plugin.ErrArchive},
		{"tar: a size with blanks around it", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 124, "          1 ")) }, nil},
		{"tar: a size with a NUL inside", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 124, "\x000000000001\x00")) }, plugin.ErrArchive},
		{"tar: a size that begins with a NUL", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 124, "\x0000000000001")) }, plugin.ErrArchive},
		{"tar: a size in base 256", func(testing.TB) []byte {
			return rawTar(changed(regular("x", 1), 124, "\x80"+strings.Repeat("\x00", 10)+"\x01"))
		}, plugin.ErrArchive},
		{"tar: no size", func(testing.TB) []byte { return rawTar(changed(regular("x", 0), 124, strings.Repeat("\x00", 12))) }, plugin.ErrArchive},
		{"tar: a mode with a NUL inside", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 100, "\x000000755")) }, plugin.ErrArchive},
		{"tar: an owner that is no number", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 108, "0000a")) }, plugin.ErrArchive},
		{"tar: a device that is no number", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 330, "x")) }, plugin.ErrArchive},
		{"tar: an owner in base 256", func(testing.TB) []byte {
			return rawTar(changed(regular("x", 1), 108, "\x80\x00\x00\x00\x00\x30\x00\x00"))
		}, nil},
		{"tar: a prefix", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 345, "dir")) }, nil},
		{"tar: the format of GNU", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 257, "ustar  \x00")) }, nil},
		{"tar: the format of GNU with a prefix", func(testing.TB) []byte {
			return rawTar(changed(changed(regular("x", 1), 257, "ustar  \x00"), 345, "dir"))
		}, plugin.ErrArchive},
		{"tar: the oldest format", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 257, strings.Repeat("\x00", 8))) }, nil},
		{"tar: the oldest format with a prefix", func(testing.TB) []byte {
			return rawTar(changed(changed(regular("x", 1), 257, strings.Repeat("\x00", 8)), 345, "dir"))
		}, plugin.ErrArchive},
		{"tar: the format of star", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 508, "tar\x00")) }, plugin.ErrArchive},
		{"tar: an unknown format", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 257, "other")) }, plugin.ErrArchive},
		{"tar: a link with a size", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 156, "2")) }, plugin.ErrEntry},
		{"tar: a directory with a size", func(testing.TB) []byte { return rawTar(changed(regular("x", 1), 156, "5")) }, plugin.ErrEntry},
		{"tar: a wrong sum", func(t testing.TB) []byte {
			b := gunzipped(t, tarOf(t, reg("x")))
			b[0] = 'q'
			return gzipped(b)
		}, plugin.ErrArchive},
		{"tar: text behind it", func(t testing.TB) []byte { return append(tarOf(t, reg("x")), "more"...) }, plugin.ErrArchive},
		{"tar: zeros behind it", func(t testing.TB) []byte { return append(tarOf(t, reg("x")), 0, 0, 0, 0) }, plugin.ErrArchive},
		{"tar: a second member", func(t testing.TB) []byte { return append(tarOf(t, reg("x")), tarOf(t, reg("y"))...) }, plugin.ErrArchive},
		{"tar: text behind the end of the tar", func(t testing.TB) []byte { return gzipped(append(gunzipped(t, tarOf(t, reg("x"))), "hidden"...)) }, plugin.ErrArchive},
		{"tar: a second tar behind the first", func(t testing.TB) []byte {
			return gzipped(append(gunzipped(t, tarOf(t, reg("x"))), gunzipped(t, tarOf(t, reg("y")))...))
		}, plugin.ErrArchive},
		{"tar: padded with zeros as tar does", func(t testing.TB) []byte {
			return gzipped(append(gunzipped(t, tarOf(t, reg("x"))), make([]byte, 10<<10)...))
		}, nil},
		{"tar: padded with many zeros", func(t testing.TB) []byte {
			return gzipped(append(gunzipped(t, tarOf(t, reg("x"))), make([]byte, 6<<20)...))
		}, plugin.ErrBounds},
		{"tar: cut short", func(t testing.TB) []byte { b := tarOf(t, reg("x")); return b[:len(b)-9] }, plugin.ErrArchive},
		{"tar: cut short between entries", func(t testing.TB) []byte { b := gunzipped(t, tarOf(t, reg("x"))); return gzipped(b[:len(b)-1024]) }, plugin.ErrArchive},
		{"tar: cut short inside an entry", func(t testing.TB) []byte { b := gunzipped(t, tarOf(t, reg("x"))); return gzipped(b[:len(b)-1100]) }, plugin.ErrArchive},
		{"tar: a wrong sum of gzip", func(t testing.TB) []byte { b := tarOf(t, reg("x")); b[len(b)-5] ^= 1; return b }, plugin.ErrArchive},
		{"tar: gzip in gzip", func(t testing.TB) []byte { return gzipped(tarOf(t, reg("x"))) }, plugin.ErrArchive},
		{"tar: gzip of text", func(testing.TB) []byte { return gzipped([]byte("text")) }, plugin.ErrArchive},
		{"tar: gzip of nothing", func(testing.TB) []byte { return gzipped(nil) }, plugin.ErrArchive},
		{"tar: gzip cut in its header", func(testing.TB) []byte { return []byte{0x1f, 0x8b, 8} }, plugin.ErrArchive},
		{"tar: a bomb", func(testing.TB) []byte { return gzipped(bigTar(5<<20, 1)) }, plugin.ErrBounds},
		{"tar: a bomb of many files", func(testing.TB) []byte { return gzipped(bigTar(1<<20, 6)) }, plugin.ErrBounds},
		{"tar: many files", func(testing.TB) []byte { return gzipped(bigTar(0, 600)) }, plugin.ErrBounds},
		{"tar: neither zip nor tar.gz", func(testing.TB) []byte { return []byte("text") }, plugin.ErrArchive},
	}
	for _, name := range slips {
		attacks = append(attacks, attack{fmt.Sprintf("zip: the name %.30q", name), raw(named(name)), plugin.ErrEntry})
		if !strings.Contains(name, "\x00") {
			attacks = append(attacks, attack{fmt.Sprintf("tar: the name %.30q", name), tarred(reg(name)), plugin.ErrEntry})
		}
	}
	for _, pair := range collisions {
		var headers []tar.Header
		for _, name := range pair {
			h := reg(name)
			if strings.HasSuffix(name, "/") {
				h.Typeflag = tar.TypeDir
			}
			headers = append(headers, h)
		}
		zipDir := func(name string) rawEntry {
			e := named(name)
			if strings.HasSuffix(name, "/") {
				e.data = ""
			}
			return e
		}
		attacks = append(attacks,
			attack{fmt.Sprintf("zip: the names %+q", pair), raw(zipDir(pair[0]), zipDir(pair[1])), plugin.ErrEntry},
			attack{fmt.Sprintf("tar: the names %+q", pair), tarred(headers...), plugin.ErrEntry})
	}
	// Much less than the defaults, so that the attacks are quick to make.
	bounds := plugin.Bounds{Entries: 500, File: 1 << 20, Total: 4 << 20}
	dir := t.TempDir()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			data := a.data(t)
			file := filepath.Join(dir, "archive")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			read := func() (*plugin.Archive, error) {
				if strings.HasPrefix(a.name, "zip") {
					return plugin.ReadZip(t.Context(), bytes.NewReader(data), int64(len(data)), bounds)
				}
				return plugin.ReadTarGz(t.Context(), bytes.NewReader(data), bounds)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			got, err := read()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, a.want) || err == nil != (got != nil) {
				t.Fatalf("%v, want %v", err, a.want)
			}
			if took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
				t.Errorf("it allocated %d MiB", used>>20)
			}
			if _, err := plugin.OpenArchive(t.Context(), file, bounds); !errors.Is(err, a.want) && !strings.Contains(a.name, "text before") {
				t.Errorf("from a file: %v, want %v", err, a.want)
			}
			if err == nil {
				if _, err := got.Load(t.Context(), plugin.Options{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// streamed is an entry that is stored without its size before it.
func streamed(data string) rawEntry {
	return rawEntry{name: "x", data: data, flags: 8, behind: descriptor(data, len(data), 16), local: func(h []byte) string {
		clear(h[14:26]) // sum and sizes
		return "x"
	}}
}

// hiddenZip64 is an archive whose last comment holds another directory with the
// records of zip64 behind it, where Python's zipfile and others look for them.
func hiddenZip64() []byte {
	le := binary.LittleEndian
	return rawZip([]rawEntry{{name: "plugin.json", data: smallManifest}, named("x")}, func(z *bytes.Buffer, end []byte) []byte {
		b := z.Bytes()
		first, last := bytes.Index(b, []byte("PK\x01\x02")), bytes.LastIndex(b, []byte("PK\x01\x02"))
		other := slices.Clone(b[first:last]) // plugin.json, which is called something else
		copy(other[46:], "hidden.json")
		record, locator := make([]byte, 56), make([]byte, 20)
		copy(record, "PK\x06\x06")
		le.PutUint64(record[4:], 44)
		le.PutUint64(record[24:], 1)
		le.PutUint64(record[32:], 1)
		le.PutUint64(record[40:], uint64(len(other)))
		le.PutUint64(record[48:], uint64(len(b)))
		copy(locator, "PK\x06\x07")
		le.PutUint64(locator[8:], uint64(len(b)+len(other)))
		le.PutUint32(locator[16:], 1)
		comment := slices.Concat(other, record, locator)
		le.PutUint16(b[last+32:], uint16(len(comment)))
		le.PutUint32(end[12:], le.Uint32(end[12:])+uint32(len(comment)))
		return slices.Concat(b, comment, end)
	})
}

// descriptor is what stands behind a streamed entry.
func descriptor(data string, packed, size int) string {
	le := binary.LittleEndian
	var b []byte
	if size == 16 || size == 24 {
		b = append(b, "PK\x07\x08"...)
	}
	b = le.AppendUint32(b, crc32.ChecksumIEEE([]byte(data)))
	if size >= 20 {
		b = le.AppendUint64(le.AppendUint64(b, uint64(packed)), uint64(len(data)))
	} else {
		b = le.AppendUint32(le.AppendUint32(b, uint32(packed)), uint32(len(data)))
	}
	return string(b)
}

func extra(id uint16, data string) string {
	b := binary.LittleEndian.AppendUint16(nil, id)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(data)))
	return string(b) + data
}

func deflated(data string) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, 9)
	io.WriteString(w, data)
	w.Close()
	return b.Bytes()
}

// bigTar is a tar of n files of zeros.
func bigTar(size int64, n int) []byte {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for i := range n {
		tw.WriteHeader(&tar.Header{Name: fmt.Sprint("x", i), Mode: 0o644, Size: size, Typeflag: tar.TypeReg})
		tw.Write(make([]byte, size))
	}
	tw.Close()
	return b.Bytes()
}

// longPAX is a tar whose first header announces two megabytes of records.
func longPAX() []byte {
	h := make([]byte, 512)
	copy(h, "x")
	copy(h[100:], fmt.Sprintf("0000644\x000000000\x000000000\x00%011o\x0000000000000\x00", 2<<20))
	h[156] = 'x'
	copy(h[257:], "ustar\x0000")
	sum(h)
	return slices.Concat(h, []byte("2097152 V.x="), bytes.Repeat([]byte("x"), 2<<20))
}

// rawTar is a tar.gz of a plugin.json and the given blocks.
func rawTar(blocks ...[]byte) []byte {
	manifest := slices.Concat(tarHeader("plugin.json", '0', int64(len(smallManifest))), []byte(smallManifest), make([]byte, 512-len(smallManifest)))
	return gzipped(slices.Concat(manifest, slices.Concat(blocks...), make([]byte, 1024)))
}

func tarHeader(name string, kind byte, size int64) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], fmt.Sprintf("0000644\x000000000\x000000000\x00%011o\x0000000000000\x00", size))
	h[156] = kind
	copy(h[257:], "ustar\x0000")
	sum(h)
	return h
}

// regular is a file of no more than a block.
func regular(name string, size int) []byte {
	return slices.Concat(tarHeader(name, '0', int64(size)), []byte(strings.Repeat("x", size)), make([]byte, (512-size)%512))
}

// changed writes over a field of an entry's header.
func changed(entry []byte, at int, text string) []byte {
	copy(entry[at:], text)
	sum(entry)
	return entry
}

// paxHeader is the header of records that comes before an entry.
func paxHeader(records ...string) []byte {
	var b []byte
	for _, r := range records {
		n := len(r) + 3 // of less than 100
		if n++; n < 11 {
			n--
		}
		b = fmt.Appendf(b, "%d %s\n", n, r)
	}
	return slices.Concat(tarHeader("pax", 'x', int64(len(b))), b, make([]byte, 512-len(b)))
}

// longName is the header of GNU tar for a name.
func longName(name string) []byte {
	return slices.Concat(tarHeader("././@LongLink", 'L', int64(len(name)+1)), []byte(name), make([]byte, 512-len(name)))
}

// sum sets the checksum of a tar header.
func sum(h []byte) {
	copy(h[148:], "        ")
	n := 0
	for _, c := range h[:512] {
		n += int(c)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", n))
}

// sparseTar is a tar with a GNU sparse file of a gibibyte.
func sparseTar() []byte {
	h := make([]byte, 512)
	copy(h, "x")
	copy(h[100:], "0000644\x000000000\x000000000\x0000000001000\x0000000000000\x00")
	h[156] = 'S'
	copy(h[257:], "ustar  \x00")
	copy(h[386:], "00000000000\x0000000001000\x00")
	copy(h[483:], "10000000000\x00")
	sum(h)
	return slices.Concat(h, make([]byte, 512+1024))
}

// sparsePAX is the same as newer tars write it.
func sparsePAX(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	if err := tw.WriteHeader(&tar.Header{Name: "x", Size: 1, Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{"V.sparse.major": "1"}}); err != nil {
		t.Fatal(err)
	}
	tw.Write([]byte("x"))
	tw.Close()
	out := b.Bytes()
	// Records about sparseness cannot be written, so one of the same length is
	// written over: with a map of no data.
	at := bytes.Index(out, []byte("V.sparse.major=1"))
	record := "30 GNU.sparse.size=1073741824\n"
	start := bytes.LastIndexByte(out[:at], '\n') + 1
	if start < 512 {
		start = 512
	}
	records := "22 GNU.sparse.major=0\n22 GNU.sparse.minor=1\n" + record + "26 GNU.sparse.numblocks=1\n" + "22 GNU.sparse.map=0,1\n"
	block := make([]byte, 512)
	copy(block, records)
	copy(out[512:1024], block)
	copy(out[124:136], fmt.Sprintf("%011o\x00", len(records)))
	sum(out[:512])
	return out
}

// TestArchiveRead: archives that other programs write are read as they are
// meant. [X5]
func TestArchiveRead(t *testing.T) {
	ctx := context.Background()
	files := map[string]string{"plugin.json": smallManifest, "skills/a/SKILL.md": okSkillNamed("a") + "Body", "empty/": "", "bin/run x": "#!/bin/sh\n", "é.md": strings.Repeat("text ", 9999)}
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, exec := strings.CutSuffix(name, " x")
		h := &zip.FileHeader{Name: base, Method: zip.Deflate, Modified: time.Now()}
		if exec {
			h.SetMode(0o755)
		}
		w, err := zw.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, files[name])
	}
	zw.Close()
	var tg bytes.Buffer
	gz := gzip.NewWriter(&tg)
	tw := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base, exec := strings.CutSuffix(name, " x")
		h := &tar.Header{Name: "./" + base, Size: int64(len(files[name])), Mode: 0o644, ModTime: time.Now(), Uname: "somebody"}
		if h.Typeflag = tar.TypeReg; strings.HasSuffix(base, "/") {
			h.Typeflag = tar.TypeDir
		}
		if exec {
			h.Mode = 0o750
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(tw, files[name])
	}
	tw.Close()
	gz.Close()
	for i, a := range readBoth(t, z.Bytes(), tg.Bytes()) {
		if got := filesOf(t, a.FS()); !maps.Equal(got, files) {
			t.Errorf("archive %d: %q", i, slices.Sorted(maps.Keys(got)))
		}
		p, err := a.Load(ctx, plugin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if body, err := p.Skill("a").Body(); err != nil || body != "Body" || p.Dir() != "" {
			t.Errorf("%q, %v", body, err)
		}
		if _, err := p.LaunchPlan("x", "/data"); !errors.Is(err, plugin.ErrNoDirectory) {
			t.Errorf("a launch plan: %v", err)
		}
	}
	// A reader that gives one byte at a time, and one that fails.
	if _, err := plugin.ReadTarGz(ctx, iotest.OneByteReader(bytes.NewReader(tg.Bytes())), plugin.Bounds{}); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := plugin.ReadTarGz(ctx, io.MultiReader(bytes.NewReader(tg.Bytes()[:200]), iotest.ErrReader(broken)), plugin.Bounds{}); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := plugin.ReadTarGz(ended, bytes.NewReader(tg.Bytes()), plugin.Bounds{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := plugin.ReadZip(ended, bytes.NewReader(z.Bytes()), int64(z.Len()), plugin.Bounds{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if _, err := new(plugin.Archive).Load(ctx, plugin.Options{}); !errors.Is(err, plugin.ErrRejected) {
		t.Errorf("an empty archive: %v", err)
	}
}

// TestOpenArchive: only regular files are opened. [X5] [L6]
func TestOpenArchive(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if _, err := plugin.OpenArchive(ctx, filepath.Join(dir, "gone"), plugin.Bounds{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := plugin.OpenArchive(ctx, dir, plugin.Bounds{}); err == nil {
		t.Error("a directory is opened")
	}
	zip, tgz := bothArchives(t, mustBuild(t, sample()))
	for name, data := range map[string][]byte{"a.zip": zip, "a.tar.gz": tgz} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		link := file + ".link"
		if err := os.Symlink(file, link); err != nil {
			link = file
		}
		a, err := plugin.OpenArchive(ctx, link, plugin.Bounds{})
		if err != nil || a.Hash() != mustBuild(t, sample()).Hash() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReadSizes: sizes that are only claimed cost nothing, however much the
// bounds allow, and none makes reading panic. [X5] [Q1]
func TestReadSizes(t *testing.T) {
	ctx := context.Background()
	large := plugin.Bounds{Entries: math.MaxInt, File: math.MaxInt64, Total: math.MaxInt64, Ratio: math.MaxInt64}
	lie := gzipped(slices.Concat(tarHeader("x", '0', 1<<33-1), []byte("x")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := plugin.ReadTarGz(ctx, bytes.NewReader(lie), large); !errors.Is(err, plugin.ErrArchive) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
		t.Errorf("it allocated %d MiB", used>>20)
	}
	z := zipOf(named("x"))
	for _, size := range []int64{-1, math.MinInt64, 0, 1, 21, int64(len(z)) - 1, int64(len(z)) + 1, math.MaxInt64} {
		for _, b := range []plugin.Bounds{{}, large} {
			if _, err := plugin.ReadZip(ctx, bytes.NewReader(z), size, b); !errors.Is(err, plugin.ErrArchive) && !errors.Is(err, plugin.ErrBounds) {
				t.Errorf("a size of %d: %v", size, err)
			}
		}
	}
	if _, err := plugin.ReadZip(ctx, bytes.NewReader(z), int64(len(z)), large); err != nil {
		t.Error(err)
	}
}

// FuzzReadZip: whatever is accepted, archive/zip reads as the same files, and
// nothing panics. [X5] [Q1]
func FuzzReadZip(f *testing.F) {
	pkg := mustBuild(f, sample())
	z, _ := bothArchives(f, pkg)
	f.Add(z)
	f.Add(zipOf(named("x"), rawEntry{name: "d/"}, rawEntry{name: "y", data: "y", flags: 8, behind: descriptor("y", 1, 16)}))
	f.Add(zipOf(named("x"), rawEntry{name: "y", data: "x", share: 2}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := plugin.ReadZip(context.Background(), bytes.NewReader(data), int64(len(data)), plugin.Bounds{Total: 1 << 20})
		if err != nil {
			return
		}
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("archive/zip refuses it: %v", err)
		}
		got := filesOf(t, a.FS())
		for _, e := range r.File {
			name := strings.TrimPrefix(e.Name, "./")
			if strings.HasSuffix(name, "/") || name == "" {
				continue
			}
			rc, err := e.Open()
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(rc)
			if err != nil {
				t.Fatal(err)
			}
			have, ok := got[name]
			if !ok {
				have, ok = got[name+" x"]
			}
			if !ok || have != string(text) {
				t.Fatalf("%q differs", name)
			}
		}
	})
}

// FuzzReadTar: nothing panics, and what is accepted reads the same when it is
// written again. [X5] [Q1]
func FuzzReadTar(f *testing.F) {
	_, z := bothArchives(f, mustBuild(f, sample()))
	f.Add(gunzipped(f, z))
	f.Add(sparseTar())
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := plugin.ReadTarGz(context.Background(), bytes.NewReader(gzipped(data)), plugin.Bounds{Total: 1 << 20})
		if err == nil {
			filesOf(t, a.FS())
		}
		if _, err := plugin.ReadTarGz(context.Background(), bytes.NewReader(data), plugin.Bounds{Total: 1 << 20}); err == nil && !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			t.Error("what is no gzip is accepted")
		}
	})
}

// TestArchivesDamaged: an archive with one byte changed or cut off anywhere is
// refused or holds the same files. [X5]
func TestArchivesDamaged(t *testing.T) {
	ctx := context.Background()
	d := &plugin.Draft{Manifest: plugin.Manifest{Name: "demo"}, Files: memoryFiles("a", "text", "b/c x", "more text")}
	pkg := mustBuild(t, d)
	z, tgz := bothArchives(t, pkg)
	want := pkg.Hash()
	rnd := rand.New(rand.NewPCG(1, 1))
	check := func(what string, data []byte, read func([]byte) (*plugin.Archive, error)) {
		if a, err := read(data); err == nil && a.Hash() != want {
			t.Errorf("%s: other files", what)
		}
	}
	zipRead := func(b []byte) (*plugin.Archive, error) {
		return plugin.ReadZip(ctx, bytes.NewReader(b), int64(len(b)), plugin.Bounds{})
	}
	tarRead := func(b []byte) (*plugin.Archive, error) {
		return plugin.ReadTarGz(ctx, bytes.NewReader(b), plugin.Bounds{})
	}
	for i, one := range []struct {
		data []byte
		read func([]byte) (*plugin.Archive, error)
	}{{z, zipRead}, {tgz, tarRead}} {
		for at := range one.data {
			b := slices.Clone(one.data)
			b[at] ^= byte(1 + rnd.IntN(255))
			// The name of an entry has no sum: both headers would have to change.
			check(fmt.Sprint("archive ", i, " with another byte at ", at), b, one.read)
			if a, err := one.read(one.data[:at]); err == nil {
				t.Errorf("archive %d cut at %d is accepted: %v", i, at, a.Hash())
			}
			if _, err := one.read(append(slices.Clone(one.data), one.data[:at+1]...)); err == nil {
				t.Errorf("archive %d with %d bytes behind it is accepted", i, at+1)
			}
		}
	}
}
