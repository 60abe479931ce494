// Package hidden is internal.
package hidden

type T struct{}
