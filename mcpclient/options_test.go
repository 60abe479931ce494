package mcpclient

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestOptionsAreMasked: printed and logged, options show no value of Environ,
// and neither does what holds them. [R8]
func TestOptionsAreMasked(t *testing.T) {
	const secret = "value-of-the-host"
	opts := HostOptions{Options: Options{Environ: []string{"PATH=/bin", "TOKEN=" + secret, secret[:0] + "ODD\x1b=" + secret}, CallTimeout: time.Minute}, Lazy: true}
	h, err := NewHost(opts)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	sess := open(t, "normal", testOptions(t), Credentials{Env: map[string]string{"TOKEN": secret}})
	whole := &Session{id: testID, link: sess.stdioLink}
	view := h.View(nil)
	defer view.Close()
	holder := struct {
		Name string
		Opts Options
		Host *HostOptions
	}{"holder", opts.Options, &opts}
	for name, v := range map[string]any{
		"Options": opts.Options, "*Options": &opts.Options, "HostOptions": opts, "*HostOptions": &opts,
		"a holder": holder, "Host": h, "Session": whole, "View": view,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			got := fmt.Sprintf(verb, v)
			if strings.Contains(got, secret) || strings.Contains(got, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %s: %s", verb, name, got)
			}
			if strings.HasSuffix(name, "Options") && verb == "%+v" && (!strings.Contains(got, "TOKEN="+maskMark) || !strings.Contains(got, "CallTimeout:1m0s")) {
				t.Errorf("%s of %s: %s", verb, name, got)
			}
		}
		var logs bytes.Buffer
		slog.New(slog.NewTextHandler(&logs, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&logs, nil)).Info("x", "v", v)
		if strings.Contains(logs.String(), secret) {
			t.Errorf("logged %s: %s", name, &logs)
		}
	}
	if got := fmt.Sprintf("%+v", opts); !strings.Contains(got, "Lazy:true") {
		t.Errorf("HostOptions: %s", got)
	}
	if opts.Environ[1] != "TOKEN="+secret {
		t.Error("printing changed the options")
	}
}
