package plugin

import (
	"net/mail"
	"net/url"
	"regexp"
	"strings"

	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/strictjson"
	"github.com/plugberth/plugberth/plugin/finding"
)

// Forms that the specification recommends and does not demand (AP §5.4, §10.2).
var (
	semVer = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
		`(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	licenseID = `\(*[A-Za-z0-9.-]+\+?(:[A-Za-z0-9.-]+)?\)*`
	license   = regexp.MustCompile(`^` + licenseID + `( (AND|OR|WITH) ` + licenseID + `)*$`)
	namespace = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$`)
)

// lintOnly reports whether a code is one that only lint reports, of what costs
// nothing in a host. Credentials are not among them: see [ErrCredential].
func lintOnly(code finding.Code) bool { return strings.HasPrefix(string(code), "lint-") }

// lint notes what is allowed but likely not meant. All of it is info.
func (j *manifestJudge) lint(root strictjson.Value) {
	for m := range root.Members() {
		v := m.Value
		switch m.Name {
		case "version":
			if !semVer.MatchString(v.Text()) {
				j.add(finding.LintVersion, "/version", v.Offset(), "the version is not Semantic Versioning: write MAJOR.MINOR.PATCH")
			}
		case "homepage", "repository":
			j.lintURL("/"+m.Name, v)
		case "author":
			for a := range v.Members() {
				switch a.Name {
				case "url":
					j.lintURL("/author/url", a.Value)
				case "email":
					if at, err := mail.ParseAddress(a.Value.Text()); err != nil || at.Address != a.Value.Text() {
						j.add(finding.LintEmail, "/author/email", a.Value.Offset(), "this is no mail address: write name@example.com")
					}
				}
			}
		case "license":
			if !license.MatchString(v.Text()) {
				j.add(finding.LintLicense, "/license", v.Offset(), "this has not the form of an SPDX expression: write MIT, Apache-2.0 or the like")
			}
		case "extensions":
			for n := range v.Members() {
				if !namespace.MatchString(n.Name) {
					j.add(finding.LintNamespace, "/extensions"+strictjson.Pointer(n.Name), n.Offset,
						"the namespace %s is no reverse-domain name: write com.example.client", printable.Quote(n.Name))
				}
			}
		}
	}
}

func (j *manifestJudge) lintURL(pointer string, v strictjson.Value) {
	u, err := url.Parse(v.Text())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		j.add(finding.LintURL, pointer, v.Offset(), "this is no web address: write an absolute http or https URL")
	}
}
