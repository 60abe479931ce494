package thing_test

import (
	"fmt"
	"testing"

	"example.test/sample/thing"
)

func Example() {
	var l thing.List[int]
	l.Add(1)
	fmt.Println(l.Depth, helped().Low)
	// Output: 0 0
}

func helped() *thing.Options { return thing.New() }

// The rest of the file is no example, and is not even sound.
func TestOther(t *testing.T) {
	thing.Unused()
	thing.Undefined()
}
