package other_test

import "example.test/sample/other"

func ExampleUsed() {
	other.Used()
}
