package authoring

import (
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk"
)

// helperDir is the folder of a project that holds its helper library.
const helperDir = "anchor"

// writeHelper writes the sources of a language's helper library into dir.
func writeHelper(t *Toolchain, dir string) error {
	files, err := helperFiles(t)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeNew(filepath.Join(dir, filepath.FromSlash(name)), files[name]); err != nil {
			return err
		}
	}
	return nil
}

// helperFiles are the sources of a language's helper library by their paths, none if it has none.
func helperFiles(t *Toolchain) (map[string][]byte, error) {
	files := map[string][]byte{}
	switch t.helper {
	case "":
		return nil, nil
	case goHelper:
		return files, addGoHelper(files)
	}
	return files, addFiles(files, sdk.Files, t.helper, "", t.helperFile)
}

// addFiles adds the files of a folder for which wanted returns true, below a folder. wanted gets
// paths relative to the folder.
func addFiles(to map[string][]byte, from fs.FS, root, below string, wanted func(path string) bool) error {
	n := 0
	err := fs.WalkDir(from, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		relative := strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
		if root == "." {
			relative = name
		}
		if !wanted(relative) {
			return nil
		}
		n++
		to[path.Join(below, relative)], err = fs.ReadFile(from, name)
		return err
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

func addGoHelper(files map[string][]byte) error {
	files["go.mod"], files["go.sum"] = goHelperModule, goHelperSums
	if err := addFiles(files, abi.Sources, ".", "abi", guestSource); err != nil {
		return err
	}
	return addFiles(files, sdk.Files, goHelper, path.Join("sdk", goHelper), guestSource)
}

// guestSource reports whether a file of package abi or of the SDK belongs into a project.
func guestSource(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && path.Base(name) != "embed.go"
}
