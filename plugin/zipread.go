package plugin

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The parts of a zip archive (PKWARE APPNOTE 4.3).
const (
	zipLocal      = "PK\x03\x04"
	zipCentral    = "PK\x01\x02"
	zipEnd        = "PK\x05\x06"
	zipDescriptor = "PK\x07\x08"
	zip64Locator  = "PK\x06\x07" // stands before the end, where there is one

	zip64LocatorSize = 20

	zipLocalSize   = 30
	zipCentralSize = 46
	zipEndSize     = 22
)

// Flags of an entry that count here.
const (
	zipEncrypted  = 1<<0 | 1<<6 | 1<<13
	zipPatched    = 1 << 5
	zipStreamed   = 1 << 3 // sizes and sum stand behind the content
	zipUTF8       = 1 << 11
	zipFlagsAlike = zipEncrypted | zipPatched | zipStreamed | zipUTF8
)

// zipReader reads a zip archive strictly. archive/zip believes the headers at
// the end alone and lets files overlap; both is what attacks are made of.
type zipReader struct {
	r    io.ReaderAt
	size int64
	c    *collector
	// Used for one entry after the other: what they allocate adds up.
	in      *bufio.Reader
	inflate io.ReadCloser
}

// zipEntry is an entry as the headers at the end describe it.
type zipEntry struct {
	name         string
	flags        uint16
	method       uint16
	crc          uint32
	packed, size int64
	offset       int64 // of its local header
	dir, exec    bool
}

func notSound(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrArchive, fmt.Sprintf(format, args...))
}

var le = binary.LittleEndian

func newZipReader(r io.ReaderAt, size int64, c *collector) *zipReader {
	in := bufio.NewReader(strings.NewReader(""))
	return &zipReader{r: r, size: size, c: c, in: in, inflate: flate.NewReader(in)}
}

func (z *zipReader) read() error {
	if z.size < 0 {
		return notSound("it has no size")
	}
	if limit := z.c.bounds.packed(); z.size > limit {
		return fmt.Errorf("%w: the archive is larger than %d bytes", ErrBounds, limit)
	}
	if limit := z.c.bounds.unpacked(z.size); limit < z.c.budget {
		z.c.limit(limit, "the files are larger than %d bytes together, too much for an archive of this size")
	}
	entries, end, err := z.directory()
	if err != nil {
		return err
	}
	// Local entries stand side by side from the start to the directory.
	slices.SortStableFunc(entries, func(a, b zipEntry) int { return cmp.Compare(a.offset, b.offset) })
	pos := int64(0)
	for i, e := range entries {
		next := end
		if i+1 < len(entries) {
			next = entries[i+1].offset
		}
		if e.offset != pos {
			return entryError(ErrArchive, e.name, "it does not begin where what stands before it ends")
		}
		if err := z.entry(e, next); err != nil {
			return err
		}
		pos = next
	}
	if pos != end {
		return notSound("something stands before the directory that it does not list")
	}
	return nil
}

// directory reads the headers at the end of the archive. It returns where they
// begin.
func (z *zipReader) directory() (entries []zipEntry, start int64, err error) {
	tail := make([]byte, min(z.size, zipEndSize+1<<16-1))
	if _, err := z.r.ReadAt(tail, z.size-int64(len(tail))); err != nil && err != io.EOF {
		return nil, 0, err
	}
	at := len(tail) - zipEndSize
	for ; at >= 0; at-- {
		if string(tail[at:at+4]) == zipEnd && int(le.Uint16(tail[at+20:])) == len(tail)-at-zipEndSize {
			break
		}
	}
	switch {
	case at < 0:
		return nil, 0, notSound("it does not end as a zip archive does")
	case bytes.Contains(tail[at+4:], []byte(zipEnd)):
		return nil, 0, notSound("it has two ends")
	case at >= zip64LocatorSize && string(tail[at-zip64LocatorSize:][:len(zip64Locator)]) == zip64Locator:
		// Some readers go by it whatever the end says; it may stand in a comment.
		return nil, 0, notSound("zip64 is not read: pack fewer or smaller files")
	}
	e := tail[at:]
	count, length, offset := le.Uint16(e[10:]), int64(le.Uint32(e[12:])), int64(le.Uint32(e[16:]))
	switch {
	case count == 1<<16-1 || length == 1<<32-1 || offset == 1<<32-1:
		return nil, 0, notSound("zip64 is not read: pack fewer or smaller files")
	case le.Uint16(e[4:]) != 0 || le.Uint16(e[6:]) != 0 || le.Uint16(e[8:]) != count:
		return nil, 0, notSound("it is one of several parts")
	case offset+length != z.size-int64(len(e)):
		return nil, 0, notSound("its directory does not stand where it says")
	case int(count) > z.c.bounds.Entries:
		return nil, 0, fmt.Errorf("%w: the archive has more than %d entries", ErrBounds, z.c.bounds.Entries)
	}
	r := bufio.NewReader(io.NewSectionReader(z.r, offset, length))
	for range int(count) {
		if err := z.c.ctx.Err(); err != nil {
			return nil, 0, err
		}
		entry, err := readCentral(r)
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, entry)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return nil, 0, notSound("its directory lists more than it says")
	}
	return entries, offset, nil
}

// readCentral reads one header of the directory.
func readCentral(r *bufio.Reader) (zipEntry, error) {
	var h [zipCentralSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return zipEntry{}, err
	}
	if string(h[:4]) != zipCentral {
		return zipEntry{}, notSound("a header of its directory is damaged")
	}
	name, extra, err := readNames(r, le.Uint16(h[28:]), le.Uint16(h[30:]))
	if err != nil {
		return zipEntry{}, err
	}
	if _, err := r.Discard(int(le.Uint16(h[32:]))); err != nil {
		return zipEntry{}, err
	}
	e := zipEntry{
		name: name, flags: le.Uint16(h[8:]), method: le.Uint16(h[10:]), crc: le.Uint32(h[16:]),
		packed: int64(le.Uint32(h[20:])), size: int64(le.Uint32(h[24:])), offset: int64(le.Uint32(h[42:])),
		dir: strings.HasSuffix(name, "/"),
	}
	if err := e.check(extra, h[5], le.Uint32(h[38:])); err != nil {
		return zipEntry{}, err
	}
	if le.Uint16(h[34:]) != 0 {
		return zipEntry{}, entryError(ErrArchive, e.name, "it stands in another part")
	}
	return e, nil
}

// readNames reads a header's name and extra fields.
func readNames(r io.Reader, nameLen, extraLen uint16) (name string, extra []byte, err error) {
	buf := make([]byte, int(nameLen)+int(extraLen))
	if _, err := io.ReadFull(r, buf); err != nil {
		return "", nil, err
	}
	return string(buf[:nameLen]), buf[nameLen:], nil
}

// The types of Unix modes.
const (
	unixType    = 0o170000
	unixLink    = 0o120000
	unixRegular = 0o100000
	unixDir     = 0o040000
)

// check judges what a header of the directory says.
func (e *zipEntry) check(extra []byte, creator byte, attributes uint32) error {
	mode := attributes >> 16
	switch {
	case e.flags&zipEncrypted != 0:
		return entryError(ErrArchive, e.name, "it is encrypted")
	case e.flags&zipPatched != 0:
		return entryError(ErrArchive, e.name, "it is a patch")
	case e.method != 0 && e.method != 8:
		return entryError(ErrArchive, e.name, "it is compressed in a way that is not read: use deflate")
	case e.packed == 1<<32-1 || e.size == 1<<32-1 || e.offset == 1<<32-1:
		return notSound("zip64 is not read: pack smaller files")
	case e.method == 0 && e.packed != e.size:
		return entryError(ErrArchive, e.name, "it is stored with two sizes")
	case mode&unixType == unixLink:
		return entryError(ErrEntry, e.name, "it is a link")
	}
	if e.flags&zipUTF8 == 0 && strings.ContainsFunc(e.name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return entryError(ErrEntry, e.name, "the name is not marked as UTF-8")
	}
	if creator == 3 || creator == 19 { // Unix, macOS
		switch t := mode & unixType; {
		case t != 0 && t != unixRegular && t != unixDir:
			return entryError(ErrEntry, e.name, "it is neither a file nor a directory")
		case t == unixDir && !e.dir, t == unixRegular && e.dir:
			return entryError(ErrEntry, e.name, "it is a file by its name and a directory by its mode, or the other way")
		}
		e.exec = mode&0o111 != 0
	}
	if attributes&0x10 != 0 && !e.dir {
		return entryError(ErrEntry, e.name, "it is a file by its name and a directory by its attributes")
	}
	return checkExtra(e.name, extra)
}

// checkExtra refuses extra fields that make a link of a file or rename it.
func checkExtra(name string, extra []byte) error {
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return entryError(ErrArchive, name, "its extra fields are damaged")
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		switch id {
		case 0x756e, 0x000d: // Unix fields with the target of a link
			if id == 0x756e || len(field) > 12 {
				return entryError(ErrEntry, name, "it has a field that makes it a link")
			}
		case 0x7075: // a name in UTF-8
			if len(field) < 5 || string(field[5:]) != name {
				return entryError(ErrEntry, name, "it has a second name")
			}
		}
	}
	if len(bytes.Trim(extra, "\x00")) > 0 {
		return entryError(ErrArchive, name, "its extra fields are damaged")
	}
	return nil
}

// entry reads one entry, which ends where next begins.
func (z *zipReader) entry(e zipEntry, next int64) error {
	local := io.NewSectionReader(z.r, e.offset, next-e.offset)
	var h [zipLocalSize]byte
	if _, err := io.ReadFull(local, h[:]); err != nil {
		return entryError(ErrArchive, e.name, "its header is cut short")
	}
	name, extra, err := readNames(local, le.Uint16(h[26:]), le.Uint16(h[28:]))
	if err != nil {
		return entryError(ErrArchive, e.name, "its header is cut short")
	}
	if err := checkExtra(name, extra); err != nil {
		return err
	}
	flags := le.Uint16(h[6:])
	same := string(h[:4]) == zipLocal && name == e.name && (flags^e.flags)&zipFlagsAlike == 0 && le.Uint16(h[8:]) == e.method
	for i, want := range []uint32{e.crc, uint32(e.packed), uint32(e.size)} {
		got := le.Uint32(h[14+4*i:])
		same = same && (got == want || got == 0 && flags&zipStreamed != 0)
	}
	if !same {
		return entryError(ErrArchive, e.name, "its header and that in the directory differ")
	}
	body, err := local.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	behind := next - e.offset - body - e.packed
	if behind < 0 || flags&zipStreamed == 0 && behind != 0 {
		return entryError(ErrArchive, e.name, "it overlaps with what follows, or something stands between")
	}
	if flags&zipStreamed != 0 {
		if err := z.descriptor(e, io.NewSectionReader(local, body+e.packed, behind)); err != nil {
			return err
		}
	}
	return z.content(e, io.NewSectionReader(local, body, e.packed))
}

// descriptor reads what stands behind the content of a streamed entry: a
// signature that may be missing, the sum, and sizes of four or eight bytes.
func (z *zipReader) descriptor(e zipEntry, r *io.SectionReader) error {
	var d [24]byte
	n := r.Size()
	if n > int64(len(d)) {
		return entryError(ErrArchive, e.name, "something stands behind it")
	}
	b := d[:n]
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if n == 16 || n == 24 {
		if string(b[:4]) != zipDescriptor {
			return entryError(ErrArchive, e.name, "something stands behind it")
		}
		b = b[4:]
	}
	ok := false
	switch len(b) {
	case 12:
		ok = le.Uint32(b) == e.crc && int64(le.Uint32(b[4:])) == e.packed && int64(le.Uint32(b[8:])) == e.size
	case 20:
		ok = le.Uint32(b) == e.crc && le.Uint64(b[4:]) == uint64(e.packed) && le.Uint64(b[12:]) == uint64(e.size)
	}
	if !ok {
		return entryError(ErrArchive, e.name, "what stands behind it does not agree with the directory")
	}
	return nil
}

// content reads what an entry holds.
func (z *zipReader) content(e zipEntry, packed *io.SectionReader) error {
	in := z.in
	in.Reset(packed)
	sum := crc32.NewIEEE()
	var out io.Reader = in
	if e.method == 8 {
		if err := z.inflate.(flate.Resetter).Reset(in, nil); err != nil {
			return err
		}
		out = z.inflate
	}
	if e.method == 0 && e.flags&zipStreamed != 0 {
		out = &headless{r: out, name: e.name}
	}
	counted := &sizedReader{r: io.TeeReader(out, sum), left: e.size, name: e.name}
	name := strings.TrimPrefix(e.name, "./")
	if e.dir {
		if e.size != 0 {
			return entryError(ErrEntry, e.name, "it is a directory with content")
		}
		if _, err := io.Copy(io.Discard, counted); err != nil {
			return err
		}
		if name = strings.TrimSuffix(name, "/"); name != "" {
			if err := z.c.addDir(name); err != nil {
				return err
			}
		}
	} else if err := z.c.addFile(name, e.exec, e.size, counted); err != nil {
		return err
	}
	if sum.Sum32() != e.crc {
		return entryError(ErrArchive, e.name, "its sum is wrong")
	}
	if _, err := in.ReadByte(); err != io.EOF {
		return entryError(ErrArchive, e.name, "something stands behind its content")
	}
	return nil
}

// sizedReader reads exactly as many bytes as were announced.
type sizedReader struct {
	r    io.Reader
	left int64
	name string
}

func (s *sizedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.left -= int64(n)
	if s.left < 0 || err == io.EOF && s.left > 0 {
		return 0, entryError(ErrArchive, s.name, "it has another size than it says")
	}
	return n, err
}

// headless reads content that is stored without its size before it. Readers that
// go through an archive from its start look for the end of such content by what
// headers begin with, so it must not hold that.
type headless struct {
	r    io.Reader
	name string
	tail []byte // of what was read before, shorter than a signature
}

func (h *headless) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	seen := append(h.tail, p[:n]...)
	for _, signature := range []string{zipDescriptor, zipLocal, zipCentral} {
		if bytes.Contains(seen, []byte(signature)) {
			return 0, entryError(ErrArchive, h.name, "it is stored without its size before it and holds what ends such content for some readers: compress it")
		}
	}
	h.tail = append([]byte(nil), seen[max(0, len(seen)-len(zipLocal)+1):]...)
	return n, err
}
