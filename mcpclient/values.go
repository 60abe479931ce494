package mcpclient

// A message of a few megabytes can become hundreds once it is decoded, and
// take the processor from everybody for many seconds: "{}," millions of times
// is one allocation or more each, and the SDK decodes the parts of some lists
// one by one. So the values of a message are counted before it is decoded.

// valueCounter counts the values in JSON text that comes in pieces, about: each
// bracket that opens and each comma is one. Text that is no JSON does no harm.
type valueCounter struct {
	n        int
	inString bool
	escaped  bool
}

// add counts on and returns the count.
func (c *valueCounter) add(p []byte) int {
	for _, b := range p {
		switch {
		case c.escaped:
			c.escaped = false
		case c.inString:
			switch b {
			case '"':
				c.inString = false
			case '\\':
				c.escaped = true
			}
		case b == '"':
			c.inString = true
		case b == ',' || b == '{' || b == '[':
			c.n++
		}
	}
	return c.n
}

// tooManyValues reports whether a message has more than max values.
func tooManyValues(message []byte, max int) bool {
	if len(message) <= max {
		return false
	}
	var c valueCounter
	return c.add(message) > max
}
