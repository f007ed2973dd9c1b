//go:build !wasm

package abi

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// SchemaDocuments are the documents that have a JSON Schema: those of the
// operations, by the names of ABI.md, and the Manifest.
var SchemaDocuments = schemaDocuments()

// Schema returns the JSON Schema (2020-12) of a document, such as Changes. It
// is made from the Go types of this package. Requests may have members that the schema does
// not name, and a guest must skip them; answers and the manifest may not. ABI.md states the
// rules that a schema cannot express, such as members that depend on each other or on the
// request.
func Schema(document string) ([]byte, error) {
	b, err := schemaFiles.ReadFile("schemas/" + document + ".json")
	if err != nil {
		return nil, fmt.Errorf("document %s: there is no schema%s", quote(document), hint(document, SchemaDocuments))
	}
	return b, nil
}

func schemaDocuments() []string {
	files, err := schemaFiles.ReadDir("schemas")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), path.Ext(f.Name()))
	}
	return names
}
