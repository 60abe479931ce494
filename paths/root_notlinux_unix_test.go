//go:build unix && !linux

package paths_test

import (
	"os"
	"testing"
)

// asNobody runs f with the file access of an ordinary user.
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("the superuser may read anything")
	}
	f()
}
