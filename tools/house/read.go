package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// source is a parsed file of a package.
type source struct {
	name  string
	lines int
	file  *ast.File
}

// readPackages reads the packages below root whose folder matches only, in the order of their
// folders. Like the go command, it skips folders named testdata or vendor, folders whose name
// begins with a dot or an underscore, and other modules. It also skips testkit, which tests import.
func readPackages(root string, only *regexp.Regexp) ([]*pkg, error) {
	var packages []*pkg
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != root && (skipped(d.Name()) || isModule(dir)) {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if only != nil && !only.MatchString(name) {
			return nil
		}
		p, err := readPackage(dir, name)
		if p != nil {
			packages = append(packages, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("packages: read: %w", err)
	}
	return packages, nil
}

func skipped(folder string) bool {
	return folder == "testdata" || folder == "testkit" || folder == "vendor" || strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_")
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// readPackage reads the files of a folder, for all platforms, without tests. It returns nil
// if there are none.
func readPackage(dir, name string) (*pkg, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var sources []source
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, e.Name()), text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{name: e.Name(), lines: bytes.Count(text, []byte("\n")), file: file})
	}
	if len(sources) == 0 {
		return nil, nil
	}
	return measure(name, fset, sources), nil
}
