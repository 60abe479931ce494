package secrets

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
	alnum = lower + upper + digit
	hex   = digit + "abcdef"
	url64 = alnum + "-_"
)

// draw returns n characters of an alphabet, the same on every run. The tests
// make what they look for, so that no scanner takes this file for a leak.
func draw(alphabet string, n int) string {
	for seed := uint64(1); ; seed++ {
		r := rand.New(rand.NewPCG(seed, 2))
		var b strings.Builder
		for range n {
			b.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		if out := b.String(); random(out) && isWord(out[0]) && isWord(out[n-1]) {
			return out
		}
	}
}

// samples has one text for each form, with the kind it is.
func samples() map[string]string {
	base64 := alnum + "+/"
	key := draw(base64, 64) + "\n" + draw(base64, 64) + "\n" + draw(base64, 30) + "==\n"
	return map[string]string{
		"AKIA" + draw(upper, 16):                                                  "AWS access key ID",
		"ASIA" + draw(upper+"234567", 16):                                         "AWS access key ID",
		"aws_secret_access_key = " + draw(base64, 40):                             "AWS secret access key",
		"AWS_SECRET_ACCESS_KEY='" + draw(base64, 40):                              "AWS secret access key",
		"AccountKey=" + draw(base64, 86) + "==":                                   "Azure storage key",
		"AIza" + draw(url64, 35):                                                  "Google API key",
		"GOCSPX-" + draw(url64, 28):                                               "Google OAuth client secret",
		"dop_v1_" + draw(hex, 64):                                                 "DigitalOcean token",
		"dapi" + draw(hex, 32):                                                    "Databricks token",
		"ghp_" + draw(alnum, 36):                                                  "GitHub token",
		"ghs_" + draw(alnum, 90):                                                  "GitHub token",
		"github_pat_" + draw(alnum, 22) + "_" + draw(alnum, 59):                   "GitHub token",
		"glpat-" + draw(url64, 20):                                                "GitLab token",
		"npm_" + draw(alnum, 36):                                                  "npm token",
		"pypi-AgEIcHlwaS5vcmc" + draw(url64, 120):                                 "PyPI token",
		"dckr_pat_" + draw(url64, 27):                                             "Docker Hub token",
		"sk-proj-" + draw(url64, 148):                                             "OpenAI key",
		"sk-" + draw(alnum, 20) + "T3BlbkFJ" + draw(alnum, 20):                    "OpenAI key",
		"sk-ant-api03-" + draw(url64, 93) + "AA":                                  "Anthropic key",
		"hf_" + draw(lower+upper, 34):                                             "Hugging Face token",
		"gsk_" + draw(alnum, 52):                                                  "Groq key",
		"xai-" + draw(alnum, 80):                                                  "xAI key",
		"pplx-" + draw(alnum, 48):                                                 "Perplexity key",
		"r8_" + draw(alnum, 37):                                                   "Replicate token",
		"xoxb-" + draw(digit, 12) + "-" + draw(digit, 13) + "-" + draw(alnum, 24): "Slack token",
		"https://hooks.slack.com/services/T0" + draw(upper, 8) + "/B0" + draw(upper, 8) + "/" + draw(alnum, 24): "Slack webhook",
		"https://discord.com/api/webhooks/" + draw(digit, 18) + "/" + draw(url64, 68):                           "Discord webhook",
		"sk_live_" + draw(alnum, 24):                                                  "Stripe key",
		"whsec_" + draw(alnum, 32):                                                    "Stripe webhook secret",
		"SG." + draw(url64, 22) + "." + draw(url64, 43):                               "SendGrid key",
		"shpat_" + draw(hex, 32):                                                      "Shopify token",
		"lin_api_" + draw(alnum, 40):                                                  "Linear key",
		"ntn_" + draw(alnum, 46):                                                      "Notion token",
		"figd_" + draw(url64, 40):                                                     "Figma token",
		"pat" + draw(alnum, 14) + "." + draw(hex, 64):                                 "Airtable token",
		"sbp_" + draw(hex, 40):                                                        "Supabase token",
		"glsa_" + draw(alnum, 32) + "_" + draw(hex, 8):                                "Grafana token",
		"PMAK-" + draw(hex, 24) + "-" + draw(hex, 34):                                 "Postman key",
		"hvs." + draw(url64, 95):                                                      "HashiCorp Vault token",
		"dp.pt." + draw(alnum, 43):                                                    "Doppler token",
		"AGE-SECRET-KEY-1" + draw("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58):             "age secret key",
		"-----BEGIN PRIVATE KEY-----\n" + key:                                         "private key",
		"-----BEGIN RSA PRIVATE KEY-----\r\n" + strings.ReplaceAll(key, "\n", "\r\n"): "private key",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n" + key:                                 "private key",
		"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0\n\n" + key: "private key",
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x\n\n" + key:                               "private key",
		`-----BEGIN PRIVATE KEY-----\n` + strings.ReplaceAll(key, "\n", `\n`):                       "private key",
	}
}

func TestEveryFormIsFound(t *testing.T) {
	kinds := map[string]bool{}
	for sample, kind := range samples() {
		kinds[kind] = true
		for _, frame := range [][2]string{{"", ""}, {"x = \"", "\""}, {"(", ")."}, {"é ", "\n"}, {"token:", ","}, {"<", ">"}, {`"a\n`, `\n"`}, {"`", "`"}} {
			text := frame[0] + sample + frame[1]
			got, more := Find([]byte(text), 10)
			if len(got) != 1 || more || got[0].Kind != kind || got[0].Start != len(frame[0]) {
				t.Errorf("%s in %q: %+v", kind, frame, got)
			}
		}
	}
	for _, k := range known {
		if !kinds[k.kind] {
			t.Errorf("there is no sample of %s", k.kind)
		}
	}
}

// What looks like a credential and is none.
func TestWhatIsNoSecret(t *testing.T) {
	none := []string{
		"AKIAIOSFODNN7" + "EXAMPLE", "AKIA" + strings.Repeat("X", 16), "AKIA" + draw(upper, 15), "AKIA" + draw(upper, 17), "XAKIA" + draw(upper, 16),
		"AKIA" + strings.ToLower(draw(upper, 16)),
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", "aws_secret_access_key = <your-secret-access-key-goes-here-123456>",
		"aws_secret_access_key = ${AWS_SECRET_ACCESS_KEY}", "aws_secret_access_key", "aws_secret_access_key = " + draw(alnum, 64),
		"ghp_" + strings.Repeat("x", 36), "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "ghp_your_token_here", "ghp_1234567890abcdefghijklmnopqrstuvwxyz", "ghp_...",
		"ghp_" + draw(alnum, 30), "aghp_" + draw(alnum, 36), "ghp_abc123def456", "$ghp_TOKEN",
		"sk-ant-api03-your-key-here", "sk-ant-...", "sk-ant-api03-" + strings.Repeat("x", 93), "sk-" + draw(alnum, 48), "sk-1234567890", "sk-proj-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"AIzaSy" + "YOUR_API_KEY_GOES_HERE_0123456789ab", "AIza" + draw(url64, 20), "AIzaSyXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
		"xoxb-your-token", "xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx", "xoxb-" + draw(alnum, 30),
		"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "https://hooks.slack.com/services/YOUR/WEBHOOK/URL",
		"sk_test_" + draw(alnum, 24), "sk_live_...", "sk_live_" + strings.Repeat("0", 24), "whsec_...",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA...\n", "-----BEGIN PUBLIC KEY-----\n" + draw(alnum, 64),
		"-----BEGIN CERTIFICATE-----\n" + draw(alnum, 64), "-----BEGIN PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----\n<key>\n",
		"hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "hf_hub_download", "npm_config_registry_is_set_by_the_user_now", "npm_package_version",
		"pattern.0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "path", "dapi0123456789abcdef0123456789abcdef",
		"SG.short.x", "https://example.com/AKIA", "the prefix ghp_ is for tokens", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"sha256:" + draw(hex, 64), draw(hex, 40), draw(alnum, 64), "r8_" + strings.Repeat("ab", 18) + "a", "figd_", "ntn_", "",
	}
	for _, text := range none {
		if got, _ := Find([]byte("a "+text+" b"), 10); len(got) > 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestFindIsBounded(t *testing.T) {
	one := "ghp_" + draw(alnum, 36) + "\n"
	for n := range 5 {
		got, more := Find([]byte(strings.Repeat(one, n)), 3)
		if len(got) != min(n, 3) || more != (n > 3) {
			t.Errorf("%d: %d, %v", n, len(got), more)
		}
		for i, m := range got {
			if m.Start != i*len(one) || m.End != m.Start+len(one)-1 {
				t.Errorf("%+v", m)
			}
		}
	}
	// Measured for four times as much: 0.1 s for the worst.
	for _, unit := range []string{"-----BEGIN ", "pat", " sk-ant-", " ghp_" + strings.Repeat("x", 300), "-----BEGIN PRIVATE KEY-----a: b\na: b\n", "\x00"} {
		start := time.Now()
		Find([]byte(strings.Repeat(unit, (256<<10)/len(unit))), 10)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%.20q took %v", unit, took)
		}
	}
}

func FuzzFind(f *testing.F) {
	for sample := range samples() {
		f.Add([]byte("a " + sample))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _ := Find(text, 100)
		end := 0
		for _, m := range got {
			if m.Start < end || m.End <= m.Start || m.End > len(text) || m.Kind == "" {
				t.Errorf("%+v behind %d", m, end)
			}
			end = m.End
		}
	})
}

func BenchmarkFind(b *testing.B) {
	text := []byte(strings.Repeat("Read the input, decide what it needs, and write the answer down.\n", 16_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Find(text, 10)
	}
}
