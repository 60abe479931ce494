//go:build !unix

package mcpserver_test

import "time"

// cpuTime is 0 where it is not measured.
func cpuTime() time.Duration { return 0 }
