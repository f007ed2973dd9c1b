package authoring

import (
	_ "embed"
	"path"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk"
)

// goHelper is the helper library that is a Go module: in a project it is the
// part of this module that guests compile, under the same module path, and a
// workspace leads to it. Once that path is published, the project's go.work and
// the copy can go, and a require takes their place.
const goHelper = "pdk-go"

// The module of the copy: what guests need, at the versions this module has.
var (
	//go:embed gomodule/go.mod.txt
	goHelperModule []byte
	//go:embed gomodule/go.sum.txt
	goHelperSums []byte
)

func writeGoHelper(dir string) error {
	for name, data := range map[string][]byte{"go.mod": goHelperModule, "go.sum": goHelperSums} {
		if err := writeNew(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	if err := copyFiles(abi.Sources, ".", filepath.Join(dir, "abi"), guestSource); err != nil {
		return err
	}
	return copyFiles(sdk.Files, goHelper, filepath.Join(dir, "sdk", goHelper), guestSource)
}

// guestSource says whether a file of package abi or of the SDK belongs into a
// project.
func guestSource(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && path.Base(name) != "embed.go"
}
