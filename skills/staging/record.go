package staging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/nofollow"
	"github.com/plugberth/plugberth/skills"
)

// Names in the state directory. Skill names have no period, so that none of
// these is that of a record.
const (
	stateDir   = ".plugberth" // in the target
	lockFile   = ".lock"
	targetFile = ".target.json"
	newPrefix  = ".new-" // a skill that is being written
	oldPrefix  = ".old-" // a skill that is being replaced
	recordExt  = ".json"

	format    = 1
	maxRecord = 4 << 20
)

// written is what was written into one file.
type written struct {
	SHA256     string `json:"sha256"`
	Size       int64  `json:"size"`
	Executable bool   `json:"executable,omitempty"`
}

// record is what is known of one staged skill. While Next is set, a change is
// under way or was interrupted.
type record struct {
	Format  int                `json:"format"`
	Name    string             `json:"name"`
	Package string             `json:"package,omitempty"`
	Files   map[string]written `json:"files,omitempty"` // that stand in the skill's directory
	Next    *change            `json:"next,omitempty"`
}

// change is what is going to stand there.
type change struct {
	Work    string             `json:"work"` // part of the names of the work directories
	Package string             `json:"package,omitempty"`
	Files   map[string]written `json:"files"`
}

// target is what is known of the target as a whole.
type target struct {
	Format  int `json:"format"`
	Created int `json:"created"` // how many of the last directories of its path were made
}

// readRecord reads and checks the record of a skill. Whoever can write into the
// workspace can write a record, so it is believed only where it can do no more
// than that.
func readRecord(state *nofollow.Dir, name string) (*record, error) {
	data, _, err := state.ReadFile(name+recordExt, maxRecord)
	if err != nil {
		return nil, err
	}
	return parseRecord(data, name)
}

func parseRecord(data []byte, name string) (*record, error) {
	var r record
	if err := decode(data, &r); err != nil {
		return nil, err
	}
	if r.Format != format || r.Name != name || !goodFiles(r.Files) {
		return nil, ErrRecord
	}
	if r.Next != nil && (!isWork(r.Next.Work) || !goodFiles(r.Next.Files)) {
		return nil, ErrRecord
	}
	return &r, nil
}

func goodFiles(files map[string]written) bool {
	for name, w := range files {
		if !fs.ValidPath(name) || name == "." || len(w.SHA256) != 64 || w.Size < 0 {
			return false
		}
		for c := range strings.SplitSeq(name, "/") {
			if filename.Flaw(c, runtime.GOOS == "windows") != "" {
				return false
			}
		}
	}
	return true
}

// isWork reports whether s is an id as newWork gives it.
func isWork(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return ErrRecord
	}
	if _, err := d.Token(); err != io.EOF {
		return ErrRecord
	}
	return nil
}

func writeJSON(state *nofollow.Dir, name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return state.Replace(name, append(data, '\n'), 0o600, false)
}

// save writes the record, or removes it where nothing stands there any more.
func (s *session) save(r *record) error {
	if len(r.Files) == 0 && r.Next == nil {
		delete(s.records, r.Name)
		err := s.state.Remove(r.Name + recordExt)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	s.records[r.Name] = r
	return writeJSON(s.state, r.Name+recordExt, r)
}

// load reads all records. Unless readOnly says otherwise it removes records
// that an interrupted run did not complete.
func (s *session) load(readOnly bool) error {
	entries, err := s.state.List(s.limits.Entries)
	if err != nil {
		return s.disk(err)
	}
	s.records, s.broken = map[string]*record{}, map[string]error{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), recordExt)
		switch {
		case nofollow.IsTemp(e.Name()):
			if e.Type().IsRegular() && !readOnly {
				if err := s.state.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return s.disk(err)
				}
			}
		case ok && skills.CheckName(name) == nil:
			if s.records[name], err = readRecord(s.state, name); err != nil {
				delete(s.records, name)
				s.broken[name] = err
			}
		}
	}
	return nil
}

// known returns the names of all skills that have a record, sorted.
func (s *session) known() []string {
	names := slices.Collect(maps.Keys(s.records))
	names = slices.AppendSeq(names, maps.Keys(s.broken))
	slices.Sort(names)
	return names
}
