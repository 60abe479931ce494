// Package thing is sound, but for what has Bad in its name.
package thing
