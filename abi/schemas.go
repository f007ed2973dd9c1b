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
// is made from the Go types of this package. Requests allow members that are
// not named, which a guest must skip; answers and the manifest do not. Where
// members depend on one another, or on the request, the text of ABI.md says
// more than a schema can.
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
