package paths

// Dangling reports whether a link on the way leads to what does not exist.
func (l Location) Dangling() bool { return l.dangling }
