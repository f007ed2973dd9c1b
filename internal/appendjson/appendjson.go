// Package appendjson appends JSON to a buffer as an encoder of package encoding/json without escapes
// for HTML writes it, except that a map that is nil is empty. A type whose MarshalJSON calls
// encoding/json has its bytes checked and copied once more for each object around it; a type that has
// MarshalJSONTo beside it has them written once.
package appendjson

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

var options = json.JoinOptions(json.Deterministic(true), json.FormatNilSliceAsNull(true), jsonv1.OmitEmptyWithLegacySemantics(true),
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true), jsontext.PreserveRawStrings(true))

// Append appends v. dst is of no use after an error.
func Append(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	err := json.MarshalWrite(b, v, options)
	return b.Bytes(), err
}
