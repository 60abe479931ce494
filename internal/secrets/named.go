package secrets

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// credentialNames are the words that end the name of a variable, header or
// parameter whose value is a credential, in upper case with underscores.
var credentialNames = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY", "SECRET_KEY", "PRIVATE_KEY",
	"AUTH_KEY", "SIGNING_KEY", "ENCRYPTION_KEY", "SUBSCRIPTION_KEY", "CREDENTIAL", "CREDENTIALS", "AUTHORIZATION", "BEARER", "COOKIE", "SECRET_KEY_BASE",
}

// gluedWords end a name also without anything before them: PGPASSWORD.
var gluedWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY"}

// lastWords count only behind another word: PWD alone is a directory.
var lastWords = []string{"PASS", "PWD", "PAT"}

// Named reports whether the value of a variable, header or parameter of that
// name looks like a credential: the name says that it holds one, and the value
// is no placeholder, reference, path, number or word for a state.
func Named(name, value string) bool {
	words := nameWords(name)
	ends := func(last string) bool { return words == last || strings.HasSuffix(words, "_"+last) }
	behind := func(last string) bool { return strings.HasSuffix(words, "_"+last) }
	glued := func(last string) bool { return strings.HasSuffix(words, last) }
	return (slices.ContainsFunc(credentialNames, ends) || slices.ContainsFunc(gluedWords, glued) || slices.ContainsFunc(lastWords, behind)) && literal(value)
}

// option is the name of an option of a command line, and its value where that
// stands behind an equals sign.
var option = regexp.MustCompile(`^--?([A-Za-z][\w.-]*)(?:=(.*))?$`)

// headerOptions are options whose value is a header.
var headerOptions = []string{"-H", "--header", "--headers"}

// InArgument reports whether an argument of a command line looks like a credential
// by the name of its option, which stands before an equals sign or is the argument
// before. A following argument that is an option itself is no value.
func InArgument(before, argument string) bool {
	if m := option.FindStringSubmatch(argument); m != nil {
		return Named(m[1], m[2])
	}
	if header, value, ok := strings.Cut(argument, ":"); ok && slices.Contains(headerOptions, before) {
		return Named(strings.TrimSpace(header), value)
	}
	m := option.FindStringSubmatch(before)
	return m != nil && !strings.Contains(before, "=") && !strings.HasPrefix(argument, "-") && Named(m[1], argument)
}

// nameWords returns the words of a name in upper case with underscores between
// them: "X-Api-Key" and "apiKey" end alike.
func nameWords(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = '_'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

var (
	scheme    = regexp.MustCompile(`^(?i:bearer|basic|token|apikey|api-key|digest|key)\s+`)
	reference = regexp.MustCompile(`^\$|^%.*%$|^<.*>$|^\{.*\}$|^\[.*\]$|\$\{|\{\{`)
	location  = regexp.MustCompile(`^(?:[./~]|[A-Za-z]:\\|(?i:file|https?|env|op|vault|keychain):)`)
	number    = regexp.MustCompile(`^[0-9]{1,8}$`)
	// userinfo is a password in an address, such as that of a database.
	userinfo = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s:/?#@]*:([^\s/?#@]+)@`)
)

// standIns are texts that people write where a credential would stand.
var standIns = []string{"example", "placeholder", "your", "xxx", "dummy", "redacted", "changeme", "change-me", "change_me", "sample", "fake", "insert", "replace", "todo", "***", "..."}

// states are words that a variable may have in place of a credential.
var states = []string{
	"none", "null", "true", "false", "test", "local", "default", "required", "optional", "enabled", "disabled", "anonymous", "public", "bearer", "basic",
	"secret", "token", "password", "passwd", "apikey", "key", "mysecret", "mytoken", "mypassword", "mykey", "secrettoken", "apitoken", "accesstoken",
}

// literal reports whether a value may be the credential itself.
func literal(value string) bool {
	value = strings.TrimSpace(value)
	value = value[len(scheme.FindString(value)):]
	lower := strings.ToLower(value)
	letters := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' {
			return -1
		}
		return r
	}, lower)
	switch {
	case len(value) < 4, reference.MatchString(value), location.MatchString(value), number.MatchString(value):
		return false
	case slices.Contains(states, letters), strings.Trim(value, value[:1]) == "":
		return false
	}
	return !slices.ContainsFunc(standIns, func(s string) bool { return strings.Contains(lower, s) })
}

// InText returns what kind of credential a short text holds, in words, or "": one
// of a known form, or a password in an address.
func InText(text string) string {
	if found, _ := Find([]byte(text), 1); len(found) > 0 {
		return found[0].Kind
	}
	for _, m := range userinfo.FindAllStringSubmatch(text, -1) {
		if literal(m[1]) {
			return "password in an address"
		}
	}
	return ""
}

// InURL is InText for a URL, whose parameters have names.
func InURL(raw string) string {
	if kind := InText(raw); kind != "" {
		return kind
	}
	_, query, _ := strings.Cut(raw, "?")
	// Some servers take a semicolon for an ampersand.
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescaped(name), unescaped(value)
		if Named(name, value) || InText(value) != "" {
			return "parameter"
		}
	}
	return ""
}

func unescaped(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}
