package mcpclient

import "github.com/plugberth/plugberth/internal/printable"

// ExitError says that a stdio server ended although it was in use. It is an
// [ErrServer].
type ExitError struct {
	// Err is what [Process.Wait] returned: nil for success, and of a [Local]
	// process an *exec.ExitError with its status or signal.
	Err error
	// Stderr is the end of what the server wrote to stderr, at most
	// Limits.Stderr bytes before escaping: what does not print is escaped but
	// for line ends, and values that the host injected are replaced by a mark.
	Stderr string
}

// maxStderrShown bounds what an error's text shows of stderr.
const maxStderrShown = 1000

// Error says how the server ended, with the end of its stderr on one line.
func (e *ExitError) Error() string {
	text := "mcpclient: the server ended"
	if e.Err != nil {
		text += ": " + printable.Escape(e.Err.Error())
	} else {
		text += " by itself, with success"
	}
	if e.Stderr != "" {
		text += "; its stderr ended: " + oneLine(e.Stderr, maxStderrShown)
	}
	return text
}

// Unwrap returns [ErrServer] and Err.
func (e *ExitError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrServer}
	}
	return []error{ErrServer, e.Err}
}
