package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

type tokenHandler struct{ token string }

func (h *tokenHandler) TokenSource(context.Context) (oauth2.TokenSource, error) { return nil, nil }
func (h *tokenHandler) Authorize(context.Context, *http.Request, *http.Response) error {
	return nil
}

// TestCredentialsAreMasked: however they are shown, no value is.
func TestCredentialsAreMasked(t *testing.T) { // [R8]
	c := Credentials{
		Headers: http.Header{"Authorization": {"Bearer sesame-1"}, "X-\x1bKey": {"sesame-2"}},
		Env:     map[string]string{"TOKEN": "sesame-3"},
		OAuth:   &tokenHandler{"sesame-4"},
	}
	var shown strings.Builder
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, format+"\n", c)
		fmt.Fprintf(&shown, format+"\n", &c)
		fmt.Fprintf(&shown, format+"\n", []Credentials{c})
		fmt.Fprintf(&shown, format+"\n", struct{ C Credentials }{c})
	}
	for _, v := range []any{c, &c, map[string]Credentials{"x": c}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(text)
	}
	var logs bytes.Buffer
	slog.New(slog.NewTextHandler(&logs, nil)).Info("x", "c", c, "p", &c)
	slog.New(slog.NewJSONHandler(&logs, nil)).Info("x", "c", c, "p", &c)
	shown.Write(logs.Bytes())
	text := shown.String()
	if strings.Contains(text, "sesame") || strings.Contains(text, fmt.Sprintf("%x", "sesame")) || strings.Contains(text, "\x1b") {
		t.Errorf("a value is shown:\n%s", text)
	}
	if !strings.Contains(text, "Authorization") || !strings.Contains(text, "TOKEN") {
		t.Errorf("names are not shown:\n%s", text)
	}
}
