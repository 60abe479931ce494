//go:build linux && !race

package mcpclient_test

const raceEnabled = false
