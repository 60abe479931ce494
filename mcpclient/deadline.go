package mcpclient

import (
	"io"
	"net"
	"time"
)

// Pipes of local processes have deadlines on Unix. Those of Windows, and what
// other launchers return, may have none, and then a read or write cannot be
// called off. They get a pipe in memory before them that has.

type deadlineReader interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

type deadlineWriter interface {
	io.WriteCloser
	SetWriteDeadline(time.Time) error
}

func readerWithDeadlines(r io.ReadCloser) deadlineReader {
	if d, ok := r.(deadlineReader); ok && d.SetReadDeadline(time.Time{}) == nil {
		return d
	}
	ours, theirs := net.Pipe()
	go func() {
		io.Copy(theirs, r)
		theirs.Close()
		io.Copy(io.Discard, r) // a server must not block on what is not read any more
	}()
	return &bridged{ours, r}
}

func writerWithDeadlines(w io.WriteCloser) deadlineWriter {
	if d, ok := w.(deadlineWriter); ok && d.SetWriteDeadline(time.Time{}) == nil {
		return d
	}
	ours, theirs := net.Pipe()
	go func() {
		io.Copy(w, theirs)
		theirs.Close()
	}()
	return &bridged{ours, w}
}

// bridged closes what is behind the pipe too, which may take its time.
type bridged struct {
	net.Conn
	behind io.Closer
}

func (b *bridged) Close() error {
	err := b.Conn.Close()
	go b.behind.Close()
	return err
}
