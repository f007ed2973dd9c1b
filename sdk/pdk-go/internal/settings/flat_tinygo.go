//go:build tinygo

package settings

// flat leaves every document to encoding/json, which TinyGo's reflection is made
// for.
func flat([]byte, any) bool { return false }
