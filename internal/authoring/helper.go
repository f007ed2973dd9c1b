package authoring

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk"
)

// helperDir is the folder of a project that holds its helper library.
const helperDir = "anchor"

// writeHelper writes the sources of a language's helper library into dir.
func writeHelper(t *Toolchain, dir string) error {
	if t.helper == "" {
		return nil
	}
	if t.helper == goHelper {
		return writeGoHelper(dir)
	}
	return copyFiles(sdk.Files, t.helper, dir, func(string) bool { return true })
}

// copyFiles copies the files of a folder for which wanted returns true. It passes paths
// relative to the folder.
func copyFiles(from fs.FS, root, dir string, wanted func(path string) bool) error {
	n := 0
	err := fs.WalkDir(from, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		below := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		if root == "." {
			below = name
		}
		if !wanted(below) {
			return nil
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		n++
		return writeNew(filepath.Join(dir, filepath.FromSlash(below)), data)
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: nothing to copy", path.Base(root))
	}
	return err
}

// writeNew writes a file and the folders it lies in.
func writeNew(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

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
