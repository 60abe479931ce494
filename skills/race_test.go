//go:build race

package skills_test

// hostileSize is smaller here: the race detector costs a factor of ten.
const hostileSize = 16 << 10
