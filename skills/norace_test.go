//go:build !race

package skills_test

// hostileSize is that of the largest frontmatter that is read.
const hostileSize = 64 << 10
