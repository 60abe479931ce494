package staging

// WithStep returns a target that tells step of each step it takes.
func WithStep(t Target, step func(string)) Target {
	t.step = step
	return t
}
