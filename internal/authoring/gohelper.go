package authoring

import (
	_ "embed"
	"path"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk"
)

// goHelper is the helper library for Go. In a project it is the part of this module that
// guests compile, under the same module path, and a workspace refers to it. Once that path
// is published, a require in the project's go.mod can replace the copy and go.work.
const goHelper = "pdk-go"

// The files of the copied module: the dependencies of guests, at the versions of this module.
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

// guestSource reports whether a file of package abi or of the SDK belongs into a project.
func guestSource(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && path.Base(name) != "embed.go"
}
