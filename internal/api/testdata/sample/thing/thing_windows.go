package thing

// BadSystem is there on Windows alone.
func BadSystem() {}

// BadMethod too.
func (o *Options) BadMethod() {}

func fine() {}

func (unexported) Fine() {}
