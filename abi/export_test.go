package abi

import "testing"

// What the tests of package abi_test use, which import package manifest.
var (
	GuestDecoders = guestDecoders
	Members       = members1
)

// CompareABITable holds a table of ABI.md against what Go says.
func CompareABITable(t *testing.T, name string, want [][]string) {
	t.Helper()
	compareTable(t, readABI(t), name, want)
}
