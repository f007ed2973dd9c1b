package abi_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
)

// Manifests come from guests too.
func init() {
	abi.GuestDecoders["manifest"] = func(b []byte) (any, error) { return manifest.Parse(b) }
}

func TestABIManifestTables(t *testing.T) {
	for name, of := range map[string]any{
		"manifest": manifest.Manifest{}, "operation": manifest.OperationSpec{}, "permission": manifest.Permission{}, "self test": manifest.SelfTest{},
	} {
		abi.CompareABITable(t, name, abi.Members(of))
	}
}
