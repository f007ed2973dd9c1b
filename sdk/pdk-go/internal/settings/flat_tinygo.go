//go:build tinygo

package settings

import "unsafe"

type field struct{}

func fieldsOf(any) []field { return nil }

// flat leaves every document to encoding/json: TinyGo's reflection is written for that
// package.
func flat([]byte, unsafe.Pointer, []field) bool { return false }
