package plugin

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// readTarGz reads a tar.gz archive.
func readTarGz(r io.Reader, c *collector) error {
	packed := &countingReader{r: r, c: c, limit: c.bounds.packed(), why: "the archive is larger than %d bytes"}
	in := bufio.NewReaderSize(packed, 64<<10)
	gz, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	gz.Multistream(false)
	stream := &countingReader{r: gz, c: c, limit: c.bounds.packed(), why: "the archive holds more than %d bytes", packed: packed, seen: new(tarHeaders)}
	if err := readTar(stream, c); err != nil {
		return err
	}
	if _, err := in.ReadByte(); err != io.EOF {
		if err != nil {
			return err
		}
		return notSound("something stands behind its end")
	}
	return nil
}

// countingReader bounds a stream by the bytes that come through.
type countingReader struct {
	r      io.Reader
	c      *collector
	n      int64
	limit  int64
	why    string
	packed *countingReader // what the stream comes from; bounds the ratio
	seen   *tarHeaders     // nil for what is packed
}

func (r *countingReader) Read(p []byte) (int, error) {
	if err := r.c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	if r.n += int64(n); r.n > r.limit {
		return 0, fmt.Errorf("%w: "+r.why, ErrBounds, r.limit)
	}
	if r.packed != nil && r.n > r.c.bounds.unpacked(r.packed.n) {
		return 0, fmt.Errorf("%w: the archive holds more than %d times its size", ErrBounds, r.c.bounds.Ratio)
	}
	if r.seen != nil {
		if err := r.seen.see(p[:n]); err != nil {
			return 0, err
		}
	}
	return n, err
}

const tarBlock = 512

func readTar(stream *countingReader, c *collector) error {
	tr := tar.NewReader(stream)
	end := int64(0) // of the last entry, in whole blocks
	for count := 0; ; count++ {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if count >= c.bounds.Entries {
			return fmt.Errorf("%w: the archive has more than %d entries", ErrBounds, c.bounds.Entries)
		}
		if err := tarEntry(tr, h, c); err != nil {
			return err
		}
		end = (stream.n + tarBlock - 1) / tarBlock * tarBlock
	}
	// Two blocks of zeros end an archive; without them it was cut short.
	buf := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return notSound("something stands behind its end")
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if stream.n < end+2*tarBlock || stream.n%tarBlock != 0 {
		return notSound("it is cut short: its end is missing")
	}
	return nil
}

func tarEntry(tr *tar.Reader, h *tar.Header, c *collector) error {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") || key == "SCHILY.realsize" {
			return entryError(ErrEntry, h.Name, "it is a sparse file")
		}
	}
	if _, ok := h.PAXRecords["size"]; ok {
		// A file that needs the record is over the bounds; where the header says
		// something else, readers disagree about where the entry ends.
		return entryError(ErrArchive, h.Name, "it has a second size")
	}
	if path, ok := h.PAXRecords["path"]; ok && path != h.Name {
		return entryError(ErrArchive, h.Name, "it has a second name")
	}
	name := strings.TrimPrefix(h.Name, "./")
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		// git writes the commit into one.
		for key := range h.PAXRecords {
			if key != "comment" {
				return fmt.Errorf("%w: the archive has a header for all entries", ErrEntry)
			}
		}
		return nil
	case tar.TypeDir:
		if h.Size != 0 {
			return entryError(ErrEntry, h.Name, "it is a directory with content")
		}
		if name = strings.TrimSuffix(name, "/"); name == "" || name == "." {
			return nil
		}
		return c.addDir(name)
	case tar.TypeReg:
		return c.addFile(name, h.Mode&0o111 != 0, h.Size, tr)
	case tar.TypeSymlink, tar.TypeLink:
		return entryError(ErrEntry, h.Name, "it is a link")
	case tar.TypeGNUSparse:
		return entryError(ErrEntry, h.Name, "it is a sparse file")
	}
	return entryError(ErrEntry, h.Name, "it is neither a file nor a directory")
}
