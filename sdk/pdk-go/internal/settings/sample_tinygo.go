//go:build tinygo

package settings

import "encoding/json"

// Warm makes encoding/json analyze the type T.
func Warm[T any]() { _ = json.Unmarshal([]byte("{}"), new(T)) }
