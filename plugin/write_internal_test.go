package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestZipWithout64: what a zip archive holds with the extension alone is not
// written as one, since it would not be read; tar.gz takes it. [X2] [X5]
func TestZipWithout64(t *testing.T) {
	for n, want := range map[int]error{1<<16 - 2: nil, 1<<16 - 1: ErrBounds} {
		c := content{files: []contentFile{{path: "a"}}}
		for i := range n - 1 {
			c.dirs = append(c.dirs, fmt.Sprintf("d%05d", i)) // cheaper than files
		}
		pkg := &Package{content: c, plugin: &Plugin{}}
		var z, tgz bytes.Buffer
		if err := pkg.WriteZip(&z); !errors.Is(err, want) || want != nil && z.Len() > 0 {
			t.Errorf("%d entries: %v, want %v; %d bytes", n, err, want, z.Len())
		}
		bounds := Bounds{Entries: 100_000}
		if want == nil {
			if a, err := ReadZip(context.Background(), bytes.NewReader(z.Bytes()), int64(z.Len()), bounds); err != nil || a.Hash() != pkg.Hash() {
				t.Error(err)
			}
			continue
		}
		if err := pkg.WriteTarGz(&tgz); err != nil {
			t.Error(err)
		}
		if a, err := ReadTarGz(context.Background(), &tgz, bounds); err != nil || a.Hash() != pkg.Hash() {
			t.Error(err)
		}
	}
}
