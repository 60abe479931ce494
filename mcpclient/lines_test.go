package mcpclient

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct {
		name string
		max  int
		in   string
		want []string
		err  error
	}{
		{"lines", 10, "a\nbc\r\n\n\nd\n", []string{"a", "bc\r", "", "", "d"}, io.EOF},
		{"a last line without an end", 10, "a\nb", []string{"a", "b"}, io.EOF},
		{"nothing", 10, "", nil, io.EOF},
		{"[R9] just the limit", 3, "abc\nabc", []string{"abc", "abc"}, io.EOF},
		{"[R9] over the limit", 3, "abc\nabcd\ne", []string{"abc"}, errLineTooLong},
		{"[R9] over the limit without an end", 3, "abcd", nil, errLineTooLong},
		{"[R9] far over the limit", 5000, "abc\n" + long, []string{"abc"}, errLineTooLong},
		{"longer than the first buffer", 10_000, long + "\nabc\n" + long, []string{long, "abc", long}, io.EOF},
		{"long ones one after the other", 1 << 20, strings.Repeat(strings.Repeat("y", 100_000)+"\n", 3) + "z",
			[]string{strings.Repeat("y", 100_000), strings.Repeat("y", 100_000), strings.Repeat("y", 100_000), "z"}, io.EOF},
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
			"halves": iotest.HalfReader, "error with data": iotest.DataErrReader,
		} {
			t.Run(c.name+" "+how, func(t *testing.T) {
				r := &lineReader{src: wrap(strings.NewReader(c.in)), max: c.max}
				for i, want := range c.want {
					if got, err := r.next(); err != nil || string(got) != want {
						t.Fatalf("line %d: %d bytes, %v, want %d", i, len(got), err, len(want))
					}
					if held := cap(r.buf); held > max(firstBuffer, c.max+2, keptBuffer) {
						t.Fatalf("holds %d bytes", held)
					}
				}
				if got, err := r.next(); !errors.Is(err, c.err) {
					t.Errorf("%q, %v, want %v", got, err, c.err)
				}
			})
		}
	}
	// What a long line needed is given back.
	r := &lineReader{src: iotest.OneByteReader(strings.NewReader(strings.Repeat("y", 1<<20) + "\na\nb\n")), max: 8 << 20}
	for range 3 {
		if _, err := r.next(); err != nil {
			t.Fatal(err)
		}
	}
	if cap(r.buf) > keptBuffer {
		t.Errorf("still holds %d bytes", cap(r.buf))
	}
}
