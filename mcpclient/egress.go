package mcpclient

// Egress decides which addresses remote servers may be connected to.
type Egress struct{}
