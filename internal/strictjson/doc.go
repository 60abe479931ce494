// Package strictjson reads a JSON document without losing anything a judge of
// it needs: exact member names, duplicates, null as a value of its own, the
// offset of every name and value, and escapes that are no Unicode text.
//
// encoding/json is no base for that: it matches names without regard to case,
// keeps the last of two members, takes null for the zero value and replaces
// bad UTF-8.
package strictjson
