//go:build unix && !linux

package plugin_test

import "errors"

func mknod(string) error { return errors.ErrUnsupported }
