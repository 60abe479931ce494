package channel

// WithDefaults is what [Limit] makes of limits.
func (l Limits) WithDefaults() Limits { return l.withDefaults() }
