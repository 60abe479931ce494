package filelock

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const held = "PLUGBERTH_TEST_LOCK"

// TestChild is the other process of TestTry.
func TestChild(t *testing.T) {
	path := os.Getenv(held)
	if path == "" {
		t.Skip("it is part of TestTry")
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	ok, err := Try(file)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		os.Exit(7)
	}
}

func TestTry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	child := func() bool {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), held+"="+path)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 7 {
			return false
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return true
	}
	first := open()
	ok, err := Try(first)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	second := open()
	if ok, err := Try(second); ok || err != nil {
		t.Error("another handle: ", ok, err)
	}
	if child() {
		t.Error("another process took the lock")
	}
	first.Close()
	if !child() {
		t.Error("the lock was not dropped")
	}
	if ok, err := Try(second); !ok || err != nil {
		t.Error("after closing: ", ok, err)
	}
}
