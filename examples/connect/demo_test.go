package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// TestDemo runs the package that the documentation names.
func TestDemo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("its server is started with the go command")
	}
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"-allow-stdio", "-call", `mcp__clock__time__now={"zone":"Europe/Oslo"}`, "testdata/demo"}, &out, &errs)
	if status != statusOK || errs.Len() > 0 {
		t.Fatalf("status %d\n%s\n%s", status, &out, &errs)
	}
	for _, want := range []string{"connected  time", "mcp__clock__time__now  Tells the time in a zone.", " CE"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &out)
		}
	}
}
