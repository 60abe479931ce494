package secrets

import "testing"

func TestNamed(t *testing.T) {
	for _, c := range []struct{ name, value string }{
		{"GITHUB_TOKEN", "v9Qm2xLr"}, {"API_KEY", "a8sd7f6g"}, {"apiKey", "a8sd7f6g"}, {"X-Api-Key", "a8sd7f6g"}, {"authToken", "a8sd7f6g"},
		{"Authorization", "Bearer a8sd7f6g"}, {"authorization", "Basic dXNlcjpwYXNz"}, {"Proxy-Authorization", "a8sd7f6g"}, {"Cookie", "session=a8sd7f6g"},
		{"DB_PASS", "hunter2"}, {"DB_PWD", "hunter2"}, {"PASSWORD", "correct horse battery"}, {"CLIENT_SECRET", "123456789012"}, {"AWS_SECRET_ACCESS_KEY", "q/w+e"},
		{"GH_PAT", "a8sd7f6g"}, {"X-Token", "TOKEN a8sd7f6g"},
		{"PGPASSWORD", "hunter2"}, {"ACCESSTOKEN", "a8sd7f6g"}, {"openaiapikey", "a8sd7f6g"}, {"clientsecret", "a8sd7f6g"}, {"SECRET_KEY_BASE", "a8sd7f6g"},
	} {
		if !Named(c.name, c.value) {
			t.Errorf("%s=%s is not noticed", c.name, c.value)
		}
	}
	for _, c := range []struct{ name, value string }{
		{"GITHUB_TOKEN", ""}, {"GITHUB_TOKEN", "${GITHUB_TOKEN}"}, {"GITHUB_TOKEN", "$GITHUB_TOKEN"}, {"GITHUB_TOKEN", "%GITHUB_TOKEN%"}, {"API_KEY", "{{api_key}}"},
		{"API_KEY", "<your api key>"}, {"API_KEY", "YOUR_API_KEY"}, {"API_KEY", "xxxx-xxxx"}, {"API_KEY", "********"}, {"API_KEY", "changeme"}, {"API_KEY", "{API_KEY}"},
		{"Authorization", "Bearer ${TOKEN}"}, {"Authorization", "Bearer"}, {"Authorization", "Bearer <token>"}, {"Authorization", "Bearer your-token"},
		{"MAX_TOKENS", "4096000000"}, {"MAX_TOKEN", "4096"}, {"TOKENIZERS_PARALLELISM", "false"}, {"TOKEN_URL", "https://h/token"}, {"SECRET_NAME", "a8sd7f6g"},
		{"PASSWORD_FILE", "a8sd7f6g"}, {"DB_PASSWORD", "/run/secrets/db"}, {"API_TOKEN", "./token"}, {"TOKEN", "https://vault.internal/x"}, {"TOKEN", "op://vault/item"},
		{"PWD", "a8sd7f6g"}, {"PATH", "a8sd7f6g"}, {"PASS", "a8sd7f6g"}, {"KEY", "a8sd7f6g"}, {"X-Tenant", "a8sd7f6g"}, {"COMPASS", "north-west"}, {"USE_TOKEN", "true"}, {"", "a8sd7f6g"},
		{"REQUIRE_PASSWORD", "optional"}, {"TOKEN", "my-token"}, {"AWS_ACCESS_KEY_ID", "a8sd7f6g"}, {"KEYBOARD", "a8sd7f6g"},
	} {
		if Named(c.name, c.value) {
			t.Errorf("%s=%s is no credential", c.name, c.value)
		}
	}
}

func TestInArgument(t *testing.T) {
	for _, c := range []struct{ before, argument string }{
		{"", "--api-key=v9Qm2xLr"}, {"", "-token=v9Qm2xLr"}, {"", "--apiKey=v9Qm2xLr"}, {"x", "--db.password=hunter2"},
		{"--api-key", "v9Qm2xLr"}, {"--password", "hunter2"}, {"-token", "v9Qm2xLr"}, {"--client-secret", "v9Qm2xLr"}, {"--access_token", "v9Qm2xLr"},
		{"--header", "Authorization: Bearer v9Qm2xLr"}, {"-H", "X-Api-Key:v9Qm2xLr"},
	} {
		if !InArgument(c.before, c.argument) {
			t.Errorf("%s %s is not noticed", c.before, c.argument)
		}
	}
	for _, c := range []struct{ before, argument string }{
		{"", ""}, {"", "v9Qm2xLr"}, {"", "--api-key"}, {"", "--api-key="}, {"", "--api-key=${API_KEY}"}, {"", "--api-key=YOUR_KEY"}, {"", "--password=/run/secrets/db"},
		{"--api-key", "${API_KEY}"}, {"--api-key", "$API_KEY"}, {"--api-key", "<key>"}, {"--password", "./password"}, {"--token", "--verbose"}, {"--token", "-v9Qm2xLr"},
		{"--token=a", "v9Qm2xLr"}, {"token", "v9Qm2xLr"}, {"--password-file", "v9Qm2xLr"}, {"--max-token", "4096"}, {"--token-env", "GITHUB_AUTH"}, {"-p", "hunter2"},
		{"--header", "Authorization: Bearer ${TOKEN}"}, {"--header", "X-Tenant: v9Qm2xLr"}, {"--title", "Authorization: Bearer v9Qm2xLr"}, {"--token", ""},
	} {
		if InArgument(c.before, c.argument) {
			t.Errorf("%s %s is no credential", c.before, c.argument)
		}
	}
}

func TestInText(t *testing.T) {
	for sample, kind := range samples() {
		if got := InText("--token=" + sample); got != kind {
			t.Errorf("%s is taken for %q", kind, got)
		}
	}
	for text, want := range map[string]string{
		"postgres://app:kq8Zt3@db.internal/x": "password in an address", "redis://:kq8Zt3@cache:6379": "password in an address",
		"postgres://app:${DB_PASS}@db/x": "", "postgres://app:password@db/x": "", "postgres://app@db/x": "", "https://h:8080/a@b": "", "--token": "", "": "",
	} {
		if got := InText(text); got != want {
			t.Errorf("%s is taken for %q", text, got)
		}
	}
	for raw, want := range map[string]bool{
		"https://h/mcp?api_key=kq8Zt3Xw": true, "https://h/mcp?a=b&access_token=kq8Zt3Xw": true, "https://h/mcp?u=postgres%3A%2F%2Fa%3Akq8Zt3%40db": true,
		"https://h/mcp?a=b;token=kq8Zt3Xw": true, "https://h/mcp?a=%zz&token=kq8Zt3Xw": true, "https://h/mcp?token=kq8Zt3Xw%zz": true, "https://h/mcp?tok%65n=kq8Zt3Xw": true,
		"https://h/mcp": false, "https://h/mcp?api_key=": false, "https://h/mcp?api_key=${KEY}": false, "https://h/mcp?api_key=YOUR_KEY": false, "https://h/mcp?page=12345678901&x=%zz": false,
	} {
		if got := InURL(raw) != ""; got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func FuzzNamed(f *testing.F) {
	f.Add("API_KEY", "Bearer x")
	f.Fuzz(func(t *testing.T, name, value string) {
		Named(name, value)
		InText(value)
		InURL(value)
	})
}
