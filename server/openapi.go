package server

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strconv"
)

//go:embed openapi.json
var openapiFile []byte

// OpenAPI returns the description of the API and of the admin listener, OpenAPI 3.1 as JSON, with a
// version.
func OpenAPI(version string) []byte {
	return bytes.Replace(bytes.Clone(openapiFile), []byte(`"version": "0"`), []byte(`"version": `+strconv.Quote(version)), 1)
}

func (c *call) openapi() (any, error) {
	return json.RawMessage(c.s.document), nil
}
