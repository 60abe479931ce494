package skills_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plugberth/plugberth/paths"
	"github.com/plugberth/plugberth/skills"
)

// TestBodyErrors: what became of SKILL.md since it was loaded can be told from
// the error, which shows the package's names escaped. [S10] [Q1]
func TestBodyErrors(t *testing.T) {
	name := "a\x1b[31m"
	if runtime.GOOS == "windows" {
		name = "a b"
	}
	at := dir(t, map[string]string{"skills/" + name + "/SKILL.md": skillMD("a")})
	s := load(t, open(t, at), skills.Options{Mode: skills.Lenient}).Skills[0]
	file := filepath.Join(at, "skills", name, "SKILL.md")
	for _, c := range []struct {
		what string
		do   func() error
		want error
	}{
		{"without frontmatter", func() error { return os.WriteFile(file, []byte("x"), 0o644) }, skills.ErrChanged},
		{"larger than the limit", func() error { return os.WriteFile(file, make([]byte, 2<<20), 0o644) }, paths.ErrTooLarge},
		{"gone", func() error { return os.Remove(file) }, fs.ErrNotExist},
		{"a directory", func() error { return os.Mkdir(file, 0o755) }, paths.ErrNotRegular},
	} {
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		_, err := s.Body()
		if !errors.Is(err, c.want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q, want %v", c.what, err, c.want)
		}
		if _, err := s.Draft(); !errors.Is(err, c.want) {
			t.Errorf("%s, drafted: %v", c.what, err)
		}
	}
	if _, err := skills.Load(t.Context(), open(t, at), "skills", skills.Options{Mode: 9}); !errors.Is(err, skills.ErrOptions) {
		t.Error(err)
	}
	if _, _, err := skills.Parse("a", nil, skills.Options{Mode: 9}); !errors.Is(err, skills.ErrOptions) {
		t.Error(err)
	}
	if _, err := skills.CatalogXML(nil, skills.CatalogOptions{MaxBytes: 1}); !errors.Is(err, skills.ErrOptions) {
		t.Error(err)
	}
}
