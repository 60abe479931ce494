package report

import (
	"errors"

	"github.com/plugberth/plugberth/internal/printable"
)

// Innermost returns the error at the end of a chain: the system's reason
// without the path.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// Cause returns the text of the innermost error, safe to show.
func Cause(err error) string { return printable.Escape(Innermost(err).Error()) }
