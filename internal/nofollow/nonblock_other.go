//go:build !unix

package nofollow

// nonBlock: opening does not wait here.
const nonBlock = 0
