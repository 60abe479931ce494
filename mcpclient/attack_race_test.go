//go:build linux && race

package mcpclient_test

// raceEnabled says that memory cannot be judged.
const raceEnabled = true
