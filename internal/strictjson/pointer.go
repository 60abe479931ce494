package strictjson

import "strings"

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the JSON Pointer (RFC 6901) made of the given tokens.
func Pointer(tokens ...string) string {
	if len(tokens) == 1 && !strings.ContainsAny(tokens[0], "~/") {
		return "/" + tokens[0]
	}
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		escaper.WriteString(&b, t)
	}
	return b.String()
}
