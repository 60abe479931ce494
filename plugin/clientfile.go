package plugin

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/plugberth/plugberth/internal/filename"
	"github.com/plugberth/plugberth/internal/jsonedit"
	"github.com/plugberth/plugberth/internal/nofollow"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

// ErrClientFile: a client configuration file cannot be used: it is not JSON of
// the right shape, a link or something else stands in its way, it changed
// meanwhile, or the system refuses.
var ErrClientFile = errors.New("plugin: the client configuration cannot be used")

// ClientConfigFile is a file below a workspace from which an agent program reads
// its MCP servers: a JSON object with an object mcpServers, besides which it may
// hold anything.
//
// What is written into it is recorded in a file beside it, whose name is that of
// the file with .plugberth behind it. An entry of mcpServers is replaced or
// removed only if it was recorded for the same plugin and still is as it was
// written; others are never touched, and every other byte of the file stays as
// it is. While it holds entries that were written, the file has the mode 0600.
//
// No link below the workspace is followed, neither in the place of a directory
// nor of the file. Changes are atomic: a reader sees the file before or after. Of
// two runs that change one file at a time, one may fail and change nothing; call
// it again then. Where the system cannot lock a directory, as on Windows, the host
// has to see to it that there is one run at a time. JSON with comments is refused.
type ClientConfigFile struct {
	// Workspace is the path of a directory that exists. Its own links are
	// followed.
	Workspace string
	// Path is the path of the file below it, slash-separated, such as
	// ".mcp.json". Directories that are missing are made.
	Path string
}

// ClientConfigChange is what became of the entries of a file.
type ClientConfigChange struct {
	Written   []string // that are new or were replaced, sorted
	Unchanged []string // that stood there as they are wanted, sorted
	Removed   []string // that are gone, sorted
	// Kept are names whose entry somebody else wrote, or changed since, sorted.
	// It was left as it is, and is theirs from then on.
	Kept []string
}

const (
	clientRecord       = ".plugberth"
	clientRecordFormat = 1
	maxClientFile      = 16 << 20
)

// clientState is what is recorded of a file.
type clientState struct {
	Format  int  `json:"format"`
	Created bool `json:"created,omitempty"` // the file was not there
	Dirs    int  `json:"dirs,omitempty"`    // how many of the directories before it were not
	// Member: mcpServers was not there. The gaps are what stood between the
	// braces of an object that was empty.
	Member     bool                     `json:"member,omitempty"`
	TopGap     *string                  `json:"topGap,omitempty"`
	ServersGap *string                  `json:"serversGap,omitempty"`
	Mode       fs.FileMode              `json:"mode"` // of the file before
	Entries    map[string]clientWritten `json:"entries"`
}

// clientWritten is what is known of an entry. While a change is under way it has
// two hashes.
type clientWritten struct {
	Plugin string   `json:"plugin"`
	SHA256 []string `json:"sha256"`
}

// Write makes the entries of the configuration's plugin what the configuration
// says: new ones are added, changed ones replaced, and those removed that were
// written before and are no longer wanted. It fails with [ErrClientFile].
func (f ClientConfigFile) Write(config *ClientConfig) (ClientConfigChange, error) {
	if config == nil {
		config = &ClientConfig{}
	}
	return f.change(config.Plugin, config.Servers, true)
}

// Remove removes the entries that were written for a plugin. Once none is left,
// the file is as it was before the first, byte for byte if nobody else changed
// it, and is gone if it was not there. It fails with [ErrClientFile].
func (f ClientConfigFile) Remove(plugin string) (ClientConfigChange, error) {
	return f.change(plugin, nil, false)
}

// clientEdit is one change of a file.
type clientEdit struct {
	path   []string
	chain  []*nofollow.Dir // the workspace and the directories of the file
	locks  []func()        // releases them
	name   string
	before []byte // nil where there is no file
	mode   fs.FileMode
	doc    []byte
	state  clientState
	known  bool // there is a record
	change ClientConfigChange
}

func (f ClientConfigFile) change(plugin string, servers map[string]ClientServer, create bool) (change ClientConfigChange, err error) {
	e := &clientEdit{}
	defer func() {
		for _, release := range e.locks {
			release()
		}
		for _, d := range slices.Backward(e.chain) {
			d.Close()
		}
		if err != nil && !errors.Is(err, ErrClientFile) {
			err = fmt.Errorf("%w: %s: %w", ErrClientFile, printable.Quote(f.Path), report.Innermost(err))
		}
	}()
	there, err := e.open(f, create && len(servers) > 0)
	if err != nil {
		e.removeDirs()
		return change, err
	}
	if !there {
		return change, nil
	}
	err = e.apply(plugin, servers)
	if err == nil {
		err = e.save()
	}
	if err != nil {
		if e.before == nil && !e.known {
			e.removeDirs()
		}
		return change, err
	}
	return e.change, nil
}

func (e *clientEdit) dir() *nofollow.Dir { return e.chain[len(e.chain)-1] }

// open opens the directory of the file and reads file and record. It reports
// false where there is nothing to change.
func (e *clientEdit) open(f ClientConfigFile, create bool) (bool, error) {
	if f.Workspace == "" || f.Path == "." || !fs.ValidPath(f.Path) {
		return false, fs.ErrInvalid
	}
	workspace, err := nofollow.Open(f.Workspace)
	if err != nil {
		return false, err
	}
	e.chain = append(e.chain, workspace)
	if err := e.lock(); err != nil {
		return false, err
	}
	all := strings.Split(f.Path, "/")
	for _, name := range all {
		if flaw := filename.Flaw(name, runtime.GOOS == "windows"); flaw != "" {
			return false, fmt.Errorf("%w: %s: %s", ErrClientFile, printable.Quote(name), flaw)
		}
	}
	e.path, e.name = all[:len(all)-1], all[len(all)-1]
	for _, name := range e.path {
		var d *nofollow.Dir
		made := false
		if create {
			d, made, err = e.dir().Make(name, 0o755)
		} else if d, err = e.dir().Open(name); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		e.chain = append(e.chain, d)
		if made {
			e.state.Dirs++
		}
	}
	// The directory too: another run may have it for its workspace.
	if len(e.path) > 0 {
		if err := e.lock(); err != nil {
			return false, err
		}
	}
	return e.read(create)
}

// lock keeps other runs from the last directory that was opened.
func (e *clientEdit) lock() error {
	release, ok, err := e.dir().Lock()
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%w: another run is at work", ErrClientFile)
	}
	e.locks = append(e.locks, release)
	return nil
}

func (e *clientEdit) read(create bool) (bool, error) {
	for _, name := range []string{e.name, e.name + clientRecord} {
		if err := e.dir().Forget(name); err != nil {
			return false, err
		}
	}
	record, _, err := e.dir().ReadFile(e.name+clientRecord, maxClientFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	default:
		if err := e.state.parse(record); err != nil {
			return false, err
		}
		e.known = true
	}
	data, info, err := e.dir().ReadFile(e.name, maxClientFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !create && !e.known {
			return false, nil
		}
		e.doc = []byte("{}\n")
		if !e.known || len(e.state.Entries) > 0 {
			e.state.Created, e.state.Member, e.state.TopGap, e.state.ServersGap = true, false, nil, nil
		}
	case err != nil:
		return false, err
	default:
		e.before, e.doc, e.mode = data, data, info.Mode().Perm()
		if !e.known {
			e.state.Mode = info.Mode().Perm()
		}
	}
	if e.state.Entries == nil {
		e.state.Entries = map[string]clientWritten{}
	}
	e.state.Format = clientRecordFormat
	return true, nil
}

// parse reads a record. Whoever can write it can write the file too, so it only
// has to make sense.
func (s *clientState) parse(record []byte) error {
	d := json.NewDecoder(bytes.NewReader(record))
	d.DisallowUnknownFields()
	var r clientState
	err := d.Decode(&r)
	if _, end := d.Token(); err != nil || end != io.EOF || r.Format != clientRecordFormat || r.Mode&^fs.ModePerm != 0 {
		return fmt.Errorf("%w: the record beside it cannot be read", ErrClientFile)
	}
	for _, gap := range []*string{r.TopGap, r.ServersGap} {
		if gap != nil && strings.Trim(*gap, " \t\r\n") != "" {
			return fmt.Errorf("%w: the record beside it cannot be read", ErrClientFile)
		}
	}
	*s = r
	return nil
}

// apply changes the document and the record in memory.
func (e *clientEdit) apply(plugin string, servers map[string]ClientServer) error {
	names, err := jsonedit.Names(e.doc)
	if err != nil {
		return err
	}
	if !slices.Contains(names, mcpServers) {
		if len(servers) > 0 {
			if err := e.member(); err != nil {
				return err
			}
		}
	} else if _, err := jsonedit.Names(e.doc, mcpServers); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(e.state.Entries)) {
		if e.state.Entries[name].Plugin != plugin {
			continue
		}
		if _, wanted := servers[name]; !wanted {
			if err := e.remove(name); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if err := e.set(plugin, name, servers[name]); err != nil {
			return err
		}
	}
	slices.Sort(e.change.Kept)
	return e.tidy()
}

// member adds an empty mcpServers.
func (e *clientEdit) member() error {
	gap, empty, err := jsonedit.Gap(e.doc)
	if err != nil {
		return err
	}
	e.state.Member, e.state.TopGap = true, nil
	if empty {
		e.state.TopGap = &gap
	}
	e.doc, err = jsonedit.Set(e.doc, mcpServers, json.RawMessage("{}"))
	return err
}

// current returns the entry that stands in the document, and whether it is the
// one that was written.
func (e *clientEdit) current(name string) (value json.RawMessage, there, ours bool, err error) {
	value, there, err = jsonedit.Value(e.doc, name, mcpServers)
	if errors.Is(err, jsonedit.ErrAbsent) {
		return nil, false, false, nil
	}
	if err != nil || !there {
		return nil, false, false, err
	}
	sum, err := hashOf(value)
	return value, true, err == nil && slices.Contains(e.state.Entries[name].SHA256, sum), nil
}

func hashOf(value []byte) (string, error) {
	c, err := canonical(value)
	sum := sha256.Sum256(c)
	return hex.EncodeToString(sum[:]), err
}

func (e *clientEdit) remove(name string) error {
	_, there, ours, err := e.current(name)
	if err != nil {
		return err
	}
	switch {
	case there && !ours:
		e.change.Kept = append(e.change.Kept, name)
	case there:
		gap := ""
		if e.state.ServersGap != nil {
			gap = *e.state.ServersGap
		}
		if e.doc, err = jsonedit.Delete(e.doc, name, gap, mcpServers); err != nil {
			return err
		}
		e.change.Removed = append(e.change.Removed, name)
	default:
		e.change.Removed = append(e.change.Removed, name)
	}
	delete(e.state.Entries, name)
	return nil
}

func (e *clientEdit) set(plugin, name string, server ClientServer) error {
	value, err := json.Marshal(server)
	if err != nil {
		return err
	}
	sum, err := hashOf(value)
	if err != nil {
		return err
	}
	_, there, ours, err := e.current(name)
	if err != nil {
		return err
	}
	known := e.state.Entries[name]
	switch {
	case there && (!ours || known.Plugin != plugin):
		e.change.Kept = append(e.change.Kept, name)
		if known.Plugin == plugin {
			delete(e.state.Entries, name)
		}
		return nil
	case there && len(known.SHA256) == 1 && known.SHA256[0] == sum:
		e.change.Unchanged = append(e.change.Unchanged, name)
		return nil
	case !there:
		gap, empty, err := jsonedit.Gap(e.doc, mcpServers)
		if err != nil {
			return err
		}
		if empty {
			e.state.ServersGap = &gap
		}
	}
	if e.doc, err = jsonedit.Set(e.doc, name, value, mcpServers); err != nil {
		return err
	}
	e.state.Entries[name] = clientWritten{plugin, []string{sum}}
	e.change.Written = append(e.change.Written, name)
	return nil
}

// tidy takes mcpServers out again if it was added and nothing is left in it.
func (e *clientEdit) tidy() error {
	if len(e.state.Entries) > 0 || !e.state.Member {
		return nil
	}
	names, err := jsonedit.Names(e.doc, mcpServers)
	if errors.Is(err, jsonedit.ErrAbsent) {
		return nil
	}
	if err != nil || len(names) > 0 {
		return err
	}
	gap := ""
	if e.state.TopGap != nil {
		gap = *e.state.TopGap
	}
	e.doc, err = jsonedit.Delete(e.doc, mcpServers, gap)
	return err
}

// save writes what has changed. The record goes first, with what it said before
// as well, so that after an interruption both what is old and what is new counts
// as written.
func (e *clientEdit) save() error {
	d, record := e.dir(), e.name+clientRecord
	final := e.state
	if len(final.Entries) == 0 {
		return e.restore()
	}
	if bytes.Equal(e.before, e.doc) && e.known {
		if e.mode != 0o600 { // another program wrote it
			if err := d.Chmod(e.name, 0o600); err != nil {
				return err
			}
		}
		return e.write(final)
	}
	both := final
	both.Entries = maps.Clone(final.Entries)
	if e.known {
		var old clientState
		if data, _, err := d.ReadFile(record, maxClientFile); err == nil && old.parse(data) == nil {
			for name, was := range old.Entries {
				now, ok := both.Entries[name]
				if !ok {
					now.Plugin = was.Plugin
				}
				if now.Plugin == was.Plugin {
					now.SHA256 = append(slices.Clone(now.SHA256), was.SHA256...)
					both.Entries[name] = now
				}
			}
		}
	}
	if err := e.write(both); err != nil {
		return err
	}
	if !bytes.Equal(e.before, e.doc) {
		if err := e.unchanged(); err != nil {
			return err
		}
		if err := d.Replace(e.name, e.doc, 0o600, true); err != nil {
			return err
		}
	}
	return e.write(final)
}

func (e *clientEdit) write(s clientState) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	record := e.name + clientRecord
	if old, _, err := e.dir().ReadFile(record, maxClientFile); err == nil && bytes.Equal(old, append(data, '\n')) {
		return nil
	}
	return e.dir().Replace(record, append(data, '\n'), 0o600, true)
}

// unchanged makes sure that nobody has written the file meanwhile.
func (e *clientEdit) unchanged() error {
	now, _, err := e.dir().ReadFile(e.name, maxClientFile)
	if errors.Is(err, fs.ErrNotExist) {
		now, err = nil, nil
	}
	if err == nil && (!bytes.Equal(now, e.before) || (now == nil) != (e.before == nil)) {
		err = paths.ErrChanged
	}
	return err
}

// restore writes a file in which nothing of ours is left, and removes what was
// made for it.
func (e *clientEdit) restore() error {
	d := e.dir()
	if !e.known {
		e.removeDirs() // nothing was written
		return nil
	}
	if err := e.unchanged(); err != nil {
		return err
	}
	switch {
	case e.before == nil:
	case e.state.Created && string(e.doc) == "{}\n":
		if err := d.Remove(e.name); err != nil {
			return err
		}
	case !bytes.Equal(e.before, e.doc):
		mode := e.state.Mode
		if e.state.Created {
			mode = 0o600
		}
		if err := d.Replace(e.name, e.doc, mode, true); err != nil {
			return err
		}
		if err := d.Chmod(e.name, mode); err != nil {
			return err
		}
	}
	if err := d.Remove(e.name + clientRecord); err != nil {
		return err
	}
	e.removeDirs()
	return nil
}

// removeDirs removes the directories that were made for the file and are empty.
func (e *clientEdit) removeDirs() {
	opened := len(e.chain) - 1
	for i := range min(e.state.Dirs, opened) {
		at := opened - 1 - i
		e.chain[at+1].Close()
		e.chain = e.chain[:at+1]
		if e.chain[at].Remove(e.path[at]) != nil {
			return
		}
	}
}
