package paths

import (
	"errors"
	"io/fs"
)

// Errors that operations of a [Root] wrap, to be matched with errors.Is.
var (
	// ErrEscape: the path resolves outside the root (AP §4.1).
	ErrEscape = errors.New("the path leads outside the root")
	// ErrLoop: the path goes through a loop of links. It is an ErrEscape too.
	ErrLoop error = &kin{"the path goes through a loop of links", ErrEscape}
	// ErrDangling: a link on the path leads to something that does not exist.
	// It is an fs.ErrNotExist too.
	ErrDangling error = &kin{"the path goes through a link that leads nowhere", fs.ErrNotExist}
	// ErrNotRegular: the path resolves to something that is neither a regular
	// file nor a directory, or to a directory where a file is needed.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotDirectory: the path resolves to something that is no directory
	// where one is needed.
	ErrNotDirectory = errors.New("not a directory")
	// ErrTooLong: the path has more than 512 components, those of its links
	// included.
	ErrTooLong = errors.New("the path has too many components, those of its links included")
	// ErrTooLarge: the file is larger than the caller's limit.
	ErrTooLarge = errors.New("the file is over the size limit")
	// ErrChanged: what stands at the path changed again and again while it was
	// being opened.
	ErrChanged = errors.New("the path changed while it was opened")
	// ErrForm: the text is no plugin-relative path.
	ErrForm = errors.New("not a plugin-relative path")
)

// kin is an error that also counts as another one.
type kin struct {
	text string
	of   error
}

func (k *kin) Error() string        { return k.text }
func (k *kin) Is(target error) bool { return target == k.of }

func pathError(op, path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
