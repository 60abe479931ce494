// Package filelock locks a file against other processes and against other
// handles of this one. The system drops the lock when the file is closed or the
// process ends.
package filelock

import "os"

// Try locks the file without waiting. It reports false where another handle
// has it locked, and errors.ErrUnsupported where the system has no such locks.
func Try(file *os.File) (bool, error) { return try(file) }
