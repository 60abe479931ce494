package staging

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// FuzzRecord: a record that is taken names nothing outside of the skill's
// directory, and reads back the same.
func FuzzRecord(f *testing.F) {
	sum := "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	f.Add([]byte(`{"format":1,"name":"review","package":"p","files":{"references/a.md":{"sha256":"` + sum + `","size":3,"executable":true}}}`))
	f.Add([]byte(`{"format":1,"name":"review","next":{"work":"` + sum[:32] + `","files":{"../a":{"sha256":"` + sum + `","size":3}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data, "review")
		if err != nil {
			return
		}
		all := []map[string]written{r.Files}
		if r.Next != nil {
			if !isWork(r.Next.Work) {
				t.Fatalf("work %q", r.Next.Work)
			}
			all = append(all, r.Next.Files)
		}
		for _, files := range all {
			for name := range files {
				if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
					t.Fatalf("the record names %q", name)
				}
			}
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseRecord(text, "review"); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
