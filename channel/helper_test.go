package channel_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/plugberth/plugberth/channel"
)

// fileStore is a store that outlives its process: one JSON file, replaced as a
// whole. Opening the same path again is what a restart does.
type fileStore struct {
	path string
	mu   *sync.Mutex // of the file
}

type runFile struct {
	Exchange channel.Exchange
	Summary  channel.Summary
	Subtasks []channel.SubtaskSpec
	Progress []channel.Progress
}

func newFileStore(t *testing.T) fileStore {
	return fileStore{filepath.Join(t.TempDir(), "run.json"), new(sync.Mutex)}
}

func (f fileStore) read() (r runFile, err error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r)
}

func (f fileStore) view(ctx context.Context) (runFile, error) {
	if err := ctx.Err(); err != nil {
		return runFile{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read()
}

func (f fileStore) change(ctx context.Context, change func(*runFile) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.read()
	if err != nil {
		return err
	}
	if err := change(&r); err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}

func (f fileStore) LoadExchange(ctx context.Context) (channel.Exchange, error) {
	r, err := f.view(ctx)
	return r.Exchange, err
}

func (f fileStore) SaveExchange(ctx context.Context, e channel.Exchange) error {
	return f.change(ctx, func(r *runFile) error {
		if r.Exchange.Revision+1 != e.Revision {
			return channel.ErrConflict
		}
		r.Exchange = e
		return nil
	})
}

func (f fileStore) LoadSummary(ctx context.Context) (channel.Summary, error) {
	r, err := f.view(ctx)
	return r.Summary, err
}

func (f fileStore) SaveSummary(ctx context.Context, s channel.Summary) error {
	return f.change(ctx, func(r *runFile) error { r.Summary = s; return nil })
}

func (f fileStore) AddSubtask(ctx context.Context, spec channel.SubtaskSpec) (sub channel.Subtask, err error) {
	err = f.change(ctx, func(r *runFile) error {
		for i, s := range r.Subtasks {
			if s.Key == spec.Key {
				sub = channel.Subtask{ID: strconv.Itoa(i), Key: s.Key, Existing: true}
				return nil
			}
		}
		sub = channel.Subtask{ID: strconv.Itoa(len(r.Subtasks)), Key: spec.Key}
		r.Subtasks = append(r.Subtasks, spec)
		return nil
	})
	return sub, err
}

func (f fileStore) AddProgress(ctx context.Context, p channel.Progress) error {
	return f.change(ctx, func(r *runFile) error { r.Progress = append(r.Progress, p); return nil })
}

// faultyStore fails where the test says so.
type faultyStore struct {
	channel.Store
	read  func() error // before a read
	write func() error // before a write, which then is not done
	wrote func() error // after a write, which is done nevertheless
}

func run(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func (s *faultyStore) around(write func() error) error {
	if err := run(s.write); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return run(s.wrote)
}

func (s *faultyStore) LoadExchange(ctx context.Context) (channel.Exchange, error) {
	if err := run(s.read); err != nil {
		return channel.Exchange{}, err
	}
	return s.Store.LoadExchange(ctx)
}

func (s *faultyStore) LoadSummary(ctx context.Context) (channel.Summary, error) {
	if err := run(s.read); err != nil {
		return channel.Summary{}, err
	}
	return s.Store.LoadSummary(ctx)
}

func (s *faultyStore) SaveExchange(ctx context.Context, e channel.Exchange) error {
	return s.around(func() error { return s.Store.SaveExchange(ctx, e) })
}

func (s *faultyStore) SaveSummary(ctx context.Context, sum channel.Summary) error {
	return s.around(func() error { return s.Store.SaveSummary(ctx, sum) })
}

func (s *faultyStore) AddSubtask(ctx context.Context, spec channel.SubtaskSpec) (sub channel.Subtask, err error) {
	err = s.around(func() (err error) {
		sub, err = s.Store.AddSubtask(ctx, spec)
		return err
	})
	if err != nil {
		return channel.Subtask{}, err
	}
	return sub, nil
}

func (s *faultyStore) AddProgress(ctx context.Context, p channel.Progress) error {
	return s.around(func() error { return s.Store.AddProgress(ctx, p) })
}

// errStore is an error as a database gives it.
var errStore = errors.New("dial tcp 10.0.0.7:5432: password authentication failed for user plugberth")

// blocked asks and returns the question that blocks.
func blocked(t *testing.T, a channel.Asker, q channel.Question) channel.Question {
	t.Helper()
	_, err := a.Ask(t.Context(), q)
	var be *channel.BlockedError
	if !errors.As(err, &be) || !errors.Is(err, channel.ErrBlocked) {
		t.Fatalf("Ask(%q) = %v, want a BlockedError", q.Text, err)
	}
	if be.Question.ID == "" || be.Question.AskedAt.IsZero() || !be.Question.Same(q) {
		t.Fatalf("the blocked question is %+v, want %+v with ID and time", be.Question, q)
	}
	return be.Question
}

func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got the error %v, want %v", err, target)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ask(text string, choices ...string) channel.Question {
	return channel.Question{Text: text, Choices: choices}
}

func spec(key string) channel.SubtaskSpec {
	return channel.SubtaskSpec{Key: key, Title: "Title of " + key, Prompt: "Do it."}
}
