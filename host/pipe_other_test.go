//go:build !unix

package host_test

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
