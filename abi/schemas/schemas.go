// Package schemas holds the JSON Schemas (2020-12) of the documents of package abi. A test
// generates them from the Go types.
package schemas

import (
	"embed"
	"fmt"
	"path"
	"strings"

	"github.com/anchor-host/anchor-host/internal/nearest"
)

//go:embed *.json
var files embed.FS

// Documents are the names of the documents that have a JSON Schema: those of the operations, as
// in ABI.md, and Manifest.
var Documents = names()

// Of returns the JSON Schema of a document, such as Changes. Requests may have members that the
// schema does not name, and a guest must skip them. Answers and the manifest must not have any.
// ABI.md states the rules that a schema cannot express, such as members that depend on each other
// or on the request.
func Of(document string) ([]byte, error) {
	b, err := files.ReadFile(document + ".json")
	if err != nil {
		return nil, fmt.Errorf("document %.64q: there is no schema%s", document, nearest.Hint(document, Documents))
	}
	return b, nil
}

func names() []string {
	all, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the binary
	}
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = strings.TrimSuffix(f.Name(), path.Ext(f.Name()))
	}
	return names
}
