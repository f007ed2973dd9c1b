//go:build tinygo

package settings

import "encoding/json"

// Warm has encoding/json meet the type T.
func Warm[T any]() { _ = json.Unmarshal([]byte("{}"), new(T)) }
