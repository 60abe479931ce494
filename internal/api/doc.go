// Package api holds the exported identifiers of this module's public packages
// to a few rules, in its tests. It has no code of its own.
//
// The file api.txt pins each of them with its declaration, so that a change of
// the API is seen in review. After a change that is meant, write it anew:
//
//	go test ./internal/api -update
//
// Each exported identifier is used by one of the examples, which are the
// programs below examples and the Example functions, or serves a need that a
// file of the directory needs states; otherwise it has no place in the API. A
// type is used where an example has a value of it, and an interface's method
// where an example implements it. Methods that the standard library calls, such
// as Error and MarshalJSON, need no use, nor does that of a function type that
// is there to implement an interface.
//
// A line of the files of needs is a pattern, two blanks or more, and the need in
// one sentence; # begins a comment. A pattern is an identifier as api.txt writes
// it, such as mcpserver.Limits.Rate or mcpclient.Host.Close(), or ends in * and
// stands for all that begin so. A need that matches nothing, or only what
// examples name, is one too many.
//
// Each exported identifier has a doc comment, and each package a tour in doc.go
// and an Example function that is run. Links in comments lead somewhere, no
// declaration needs a type that users cannot name, and the API is the same on
// all systems.
package api
