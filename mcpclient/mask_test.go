package mcpclient

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/plugin"
)

func TestMasker(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		in     string
		want   string
	}{
		{"[R4] a value", []string{"s3cret"}, "token s3cret.", "token [hidden]."},
		{"[R4] at both ends and twice", []string{"s3cret"}, "s3crets3cret x s3cret", "[hidden][hidden] x [hidden]"},
		{"[R4] the longest first", []string{"abc", "abcdef", "bcd"}, "abcdefg abcd", "[hidden]g [hidden]d"},
		{"[R4] overlapping", []string{"abcd", "cdef"}, "abcdef", "[hidden]ef"},
		{"[R4] a short one", []string{"7"}, "177", "1[hidden][hidden]"},
		{"[R4] lines of a key", []string{"-----BEGIN-----\nMIIabcdefg\nx\n"}, "got MIIabcdefg\nx", "got [hidden]\nx"},
		{"[R4] as JSON has it", []string{`pa"ss\word`}, `{"k":"pa\"ss\\word"}`, `{"k":"[hidden]"}`},
		{"[R4] as URLs have it", []string{"a/b c+d"}, "a%2Fb+c%2Bd a%2Fb%20c+d", "[hidden] [hidden]"},
		{"[R4] as base64 has it", []string{"s3cret-token"}, "czNjcmV0LXRva2Vu=", "[hidden]="},
		{"[R4] in base64 behind a user", []string{"s3cret-token"}, "Basic dTpzM2NyZXQtdG9rZW4=", "Basic dTp[hidden]4="},
		{"[R4] one byte further", []string{"s3cret-token"}, "Basic dXM6czNjcmV0LXRva2Vu", "Basic dXM6[hidden]"},
		{"[R4] two bytes further", []string{"s3cret-token"}, "dXNlOnMzY3JldC10b2tlbjs=", "dXNlOn[hidden]js="},
		{"[R4] in the alphabet of URLs", []string{"\xff\xfe\xfds3cret"}, "__79czNjcmV0 //79czNjcmV0", "[hidden] [hidden]"},
		{"[R4] without blanks around", []string{"s3cret\n"}, "s3cret", "[hidden]"},
		{"empty values are none", []string{"", " "}, "a b", "a[hidden]b"},
		{"none", nil, "a", "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMasker(c.values)
			if got := m.text(c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for size := 1; size <= len(c.in); size++ {
				s := maskStream{m: m}
				var got strings.Builder
				for rest := c.in; rest != ""; {
					n := min(size, len(rest))
					got.Write(s.write([]byte(rest[:n])))
					rest = rest[n:]
				}
				got.Write(s.flush())
				if got.String() != c.want {
					t.Fatalf("in pieces of %d: %q, want %q", size, got.String(), c.want)
				}
			}
		})
	}
}

// [R4] What the end of the text cut off of a value is hidden too.
func TestMaskStreamHidesWhatIsCutOff(t *testing.T) {
	s := maskStream{m: newMasker([]string{"0123456789abcdef"})}
	got := string(s.write([]byte("the token is 0123456789ab")))
	if got += string(s.flush()); got != "the token is [hidden]" {
		t.Error(got)
	}
}

// [R8] A server that says a long secret on its output, among other text that is
// no message, does not get a part of it shown.
func TestNoiseIsMaskedWhole(t *testing.T) {
	secret := strings.Repeat("0123456789", 500)
	c := &stdioConn{link: &stdioLink{mask: newMasker([]string{secret})}}
	if err := c.drop([]byte("key: " + secret + " is what I got")); err != nil {
		t.Fatal(err)
	}
	if got := c.noiseShown(); strings.Contains(got, "0123") || !strings.Contains(got, "key: "+maskMark) {
		t.Error(got)
	}
}

// [R8] A remote server that sends back what it got, in a form that is no HTTP,
// has it neither in the error nor in the log.
func TestEchoedRequestIsMasked(t *testing.T) {
	noLeaks(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			n, _ := conn.Read(buf)
			for line := range strings.Lines(string(buf[:n])) {
				if strings.HasPrefix(line, "X-Host:") {
					_, _ = conn.Write([]byte(line))
				}
			}
			conn.Close()
		}
	}()
	var logs bytes.Buffer
	opts := remoteOptions()
	opts.Logger = slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	url := "http://" + ln.Addr().String() + "/"
	l := linkTo(t, remoteServer(t, plugin.TransportStreamableHTTP, url, packageHeaders), opts, Credentials{Headers: hostHeaders})
	_, err = ask(t, l, "POST", url, "", nil)
	if !errors.Is(err, ErrServer) {
		t.Fatal(err)
	}
	noSecrets(t, "the error", err.Error())
	resp, err := l.guard.client().Get(url) // of the event stream, which only the log tells of
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if !strings.Contains(logs.String(), "malformed HTTP") {
		t.Errorf("no record: %s", &logs)
	}
	noSecrets(t, "the log", logs.String())
}

func BenchmarkMaskShortValue(b *testing.B) {
	m := newMasker([]string{"1", strings.Repeat("x", 4000)})
	in := strings.Repeat("1", 4096)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		m.text(in)
	}
}

// [R4] However the text is cut into pieces, no value comes through.
func FuzzMaskStream(f *testing.F) {
	f.Add("s3cret", "a s3crs3cret b", uint8(3))
	f.Add("aa", "aaaaa", uint8(1))
	f.Fuzz(func(t *testing.T, value, text string, size uint8) {
		if value == "" || strings.Contains(maskMark, value) {
			return // the mark itself has it
		}
		s := maskStream{m: newMasker([]string{value})}
		var parts []string // between marks
		for rest := text; rest != ""; {
			n := min(int(size)+1, len(rest))
			parts = append(parts, string(s.write([]byte(rest[:n]))))
			rest = rest[n:]
		}
		parts = append(parts, string(s.flush()))
		for part := range strings.SplitSeq(strings.Join(parts, ""), maskMark) {
			if strings.Contains(part, value) {
				t.Errorf("%q in pieces of %d shows %q: %q", text, int(size)+1, value, parts)
			}
		}
	})
}
