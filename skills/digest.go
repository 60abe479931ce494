package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrIncomplete is wrapped where not all of a skill's files can be read, or not
// within the bounds.
var ErrIncomplete = errors.New("skills: not all files of the skill can be read")

// Bounds limit how much of one skill is read. Zero or less in a field means its
// default.
type Bounds struct {
	Files int   // files, SKILL.md included, default 1,000
	Bytes int64 // of all of them together, default 64 MiB
}

func (b Bounds) withDefaults() Bounds {
	if b.Files <= 0 {
		b.Files = 1000
	}
	if b.Bytes <= 0 {
		b.Bytes = 64 << 20
	}
	return b
}

// Digest returns a digest of the skill's content, "sha256:" and 64 hexadecimal
// digits: equal for equal files on every machine and in every form, a directory
// or an embedded file system.
//
// It is the SHA-256 of one record for each file, SKILL.md and those that
// [Skill.Resources] lists, in the order of their paths' bytes: the SHA-256 of
// the file's content in lower-case hexadecimal, two blanks, the path relative to
// the skill's directory with slashes, and a NUL. In a directory without links and
// without a file named "-", this computes the same digits:
//
//	find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z -- | sha256sum
//
// Modes, times and empty directories do not count, and links count as the files
// they lead to. It reads all files again, and fails with [ErrIncomplete] where
// there is more than the bounds allow or something cannot be read, with
// [ErrNoFiles], and with the context's error.
func (s *Skill) Digest(ctx context.Context, bounds Bounds) (string, error) {
	bounds = bounds.withDefaults()
	if s.root == nil {
		return "", ErrNoFiles
	}
	release, err := s.root.Hold()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	defer release()
	list, more, err := s.Resources(ctx, bounds.Files)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrIncomplete, err)
	case more, len(list) >= bounds.Files:
		return "", fmt.Errorf("%w: %w", ErrIncomplete, errOverBounds)
	}
	files := []string{fileName}
	for _, r := range list {
		files = append(files, r.Path)
	}
	slices.Sort(files)
	all := sha256.New()
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		sum, n, err := s.sum(name, bounds.Bytes)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrIncomplete, err)
		}
		bounds.Bytes -= n
		fmt.Fprintf(all, "%s  %s\x00", sum, name)
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}

var errOverBounds = errors.New("there are more than the bounds allow, or some that cannot be opened")

// sum returns the SHA-256 of one file of at most limit bytes, and its size.
func (s *Skill) sum(name string, limit int64) (string, int64, error) {
	file, err := s.root.Open(s.dir + "/" + name)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, limit+1))
	if err == nil && n > limit {
		err = errOverBounds
	}
	return hex.EncodeToString(h.Sum(nil)), n, err
}
