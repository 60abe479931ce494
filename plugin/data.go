package plugin

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

// ErrInstance: an [Instance] has no ID.
var ErrInstance = errors.New("plugin: the instance has no ID")

// Instance identifies one installed copy of a plugin to its host (AP §9.1).
// Its data directory belongs to it alone and survives updates, so the ID must
// be what stays the same on update: an id of the installation, not the
// resolved path of the package.
type Instance struct {
	Tenant string // separates the users of one host; "" where it has one
	ID     string // of the installation, any text but ""
}

// Key returns the name of the instance's data directory: up to 32 letters,
// digits and hyphens of the ID, for people to recognize, and 32 characters of
// a hash over tenant and ID. Different instances have different keys also on
// file systems that ignore letter case or Unicode form, and a key is never a
// device name and never has a separator. It fails with [ErrInstance].
func (i Instance) Key() (string, error) {
	if i.ID == "" {
		return "", ErrInstance
	}
	h := sha256.New()
	for _, s := range []string{i.Tenant, i.ID} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)))[:32]
	return recognizable(i.ID) + "-" + hash, nil
}

// recognizable makes something of an ID that people recognize: the last part
// of a path or URL in lower-case letters, digits and hyphens.
func recognizable(id string) string {
	id = strings.TrimRight(id, `/\`)
	id = id[strings.LastIndexAny(id, `/\`)+1:]
	var b strings.Builder
	for _, r := range id {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && s[len(s)-1] != '-' {
			b.WriteByte('-')
		}
		if b.Len() == 32 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "plugin"
}

// DataDir returns the absolute path of an instance's PLUGIN_DATA below a data
// root (AP §9.1). The root's own links are followed; neither of the two need
// exist, and nothing is created. It fails with [ErrInstance], and with
// [ErrDataDir] where the data root is empty or cannot be resolved.
func DataDir(dataRoot string, instance Instance) (string, error) {
	key, err := instance.Key()
	if err != nil {
		return "", err
	}
	if dataRoot == "" {
		return "", ErrDataDir
	}
	abs, err := filepath.Abs(dataRoot)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDataDir, err)
	}
	root, err := paths.Under(abs, ".")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDataDir, report.Innermost(err))
	}
	return filepath.Join(root.Abs(), key), nil
}

// resolveDataDir returns the resolved path of an instance's data directory. Its
// parents may be links of the host; a link in its own place is not followed.
func resolveDataDir(dir string) (string, error) {
	dir = filepath.Clean(dir)
	if !filepath.IsAbs(dir) || strings.Contains(dir, nul) {
		return "", fmt.Errorf("%w: it is not an absolute path", ErrDataDir)
	}
	parent, err := paths.Under(filepath.Dir(dir), ".")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrDataDir, report.Innermost(err))
	}
	resolved := filepath.Join(parent.Abs(), filepath.Base(dir))
	if info, err := os.Lstat(resolved); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%w: a link or file stands in its place", ErrDataDir)
	}
	return resolved, nil
}
