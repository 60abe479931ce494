// Package other has its comment in the wrong place, and no example that is run.
package other

// Used is used by a program.
func Used() {}
