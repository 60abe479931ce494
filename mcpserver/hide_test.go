package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestErrorText: of a handler's error the log keeps what is not from the
// arguments, whatever form they have in it. [T6]
func TestErrorText(t *testing.T) {
	const arguments = `{"note": "Peri \u00e9 <winkle>/x\ny", "card": 4111111111111111, "tiny": 1e-9, "short": "abc", "on": true,
		"list": ["lavender field"], "deep": {"thistledown": null}}`
	var args any
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		t.Fatal(err)
	}
	note := args.(map[string]any)["note"].(string)
	secrets := []string{"peri", "winkle", "4111", "abc", "lavender", "field", "thistledown"}
	for _, tt := range []struct{ name, text, want string }{
		{"nothing of it", "connection refused by 10.0.0.7:5432", "connection refused by 10.0.0.7:5432"},
		{"as it is", "no " + note + " here", "no [argument] here"},
		{"raw", arguments, ""},
		{"a part", "no " + note[2:14] + " here", "no [argument] here"},
		{"upper case", "no LAVENDER FIELD", "no [argument]"},
		{"quoted", fmt.Sprintf("no %q", note), "no [argument]"},
		{"quoted in ASCII", fmt.Sprintf("no %+q", note), "no [argument]"},
		{"in a query", "Get ?q=" + url.QueryEscape(note), "Get ?q=[argument]"},
		{"in a path", "Get /" + url.PathEscape(note), "Get /[argument]"},
		{"a number", "bad 4111111111111111!", "bad [argument]!"},
		{"a number as Go prints it", fmt.Sprint("bad ", 4111111111111111.0), "bad [argument]"},
		{"short", "Abc!", "[argument]!"},
		{"a name", "unknown member thistledown", "unknown member [argument]"},
		{"twice", "lavender, lavender", "[argument], [argument]"},
		{"not UTF-8", "\xff lavender \x00", `\xff [argument]\x00`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := errorText(errors.New(tt.text), args)
			if tt.want != "" && got != tt.want {
				t.Errorf("%q becomes %q, want %q", tt.text, got, tt.want)
			}
			for _, s := range secrets {
				if tt.name != "nothing of it" && strings.Contains(strings.ToLower(got), s) {
					t.Errorf("%q holds %q", got, s)
				}
			}
		})
	}
}

// TestErrorTextWork: what an agent sends cannot make the log expensive.
func TestErrorTextWork(t *testing.T) {
	var many []any
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/%06d", i))
	}
	var short []any
	for range 200_000 {
		short = append(short, "aaa")
	}
	for name, args := range map[string]any{"many": many, "one": strings.Repeat("a", 1<<20), "short": short} {
		begun := time.Now()
		got := errorText(errors.New(strings.Repeat("a", 10<<20)), args)
		if got != "[argument]" {
			t.Errorf("%s: %q", name, got)
		}
		if d := time.Since(begun); d > 10*time.Second {
			t.Errorf("%s: it took %v", name, d)
		} else {
			t.Log(name, d)
		}
	}
}
