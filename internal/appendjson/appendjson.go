// Package appendjson appends JSON to a buffer as an encoder of package encoding/json without escapes
// for HTML writes it, except that a map that is nil is empty. A type whose MarshalJSON calls
// encoding/json has its bytes checked and copied once more for each object around it; a type that has
// MarshalJSONTo beside it has them written once.
package appendjson

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// number writes a [stdjson.Number] as the number that it is; to the encoder it is a string.
var number = json.MarshalToFunc(func(e *jsontext.Encoder, n stdjson.Number) error {
	if n == "" {
		n = "0" // as encoding/json writes it
	}
	if jsontext.Value(n).Kind() != '0' {
		return fmt.Errorf("number %.100q: want a number of JSON", n)
	}
	return e.WriteValue(jsontext.Value(n))
})

var options = json.JoinOptions(jsonv1.DefaultOptionsV1(), jsontext.EscapeForHTML(false), json.FormatNilMapAsNull(false), json.WithMarshalers(number))

// Append appends v. dst is of no use after an error.
func Append(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	err := json.MarshalWrite(b, v, options)
	return b.Bytes(), err
}
