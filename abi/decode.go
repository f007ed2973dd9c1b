package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// DecodeItemsRequest reads the document [ItemsRequest]. Unknown members are
// skipped, since newer hosts may send them; settings are kept as text.
func DecodeItemsRequest(b []byte) (*ItemsRequest, error) {
	req := new(ItemsRequest)
	if err := json.Unmarshal(b, req); err != nil {
		return nil, fmt.Errorf("items request: decode: %w", err)
	}
	for i := range req.Items {
		req.Items[i].CreatedAt = req.Items[i].CreatedAt.UTC()
	}
	return req, nil
}

// DecodeReply reads the answer of a guest into one of the documents, strictly:
// the bytes are UTF-8, unknown members are errors that name the nearest valid
// one, and nothing follows. Errors wrap [ErrMalformed].
func DecodeReply(b []byte, reply any) error {
	if !utf8.Valid(b) {
		return replyError("is not valid UTF-8")
	}
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != '{' {
		return replyError("is not a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(reply)
	if err == nil {
		err = trailing(d)
	}
	if err != nil {
		return replyError(explain(err, reply))
	}
	return nil
}

type replyError string

func (e replyError) Error() string { return "answer " + string(e) }
func (e replyError) Unwrap() error { return ErrMalformed }

// explain puts an error of encoding/json into words that help a plugin author.
func explain(err error, doc any) string {
	var typ *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typ):
		if len(typ.Value) > longestQuote {
			typ.Value = typ.Value[:longestQuote] + "…"
		}
		where := typ.Field
		if where == "" {
			where = "document"
		}
		return fmt.Sprintf("has a JSON %s at %s (want %s)", typ.Value, where, wanted(typ.Type.String()))
	case errors.As(err, &syntax):
		return fmt.Sprintf("is not JSON at byte %d: %s", syntax.Offset, syntax)
	}
	msg := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(msg, "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return fmt.Sprintf("has the unknown member %s%s", quote(name), hint(name, members(doc)))
	}
	if msg == "unexpected EOF" {
		return "is not JSON: it ends too early"
	}
	return "is not usable: " + msg
}

func wanted(goType string) string {
	switch strings.TrimLeft(goType, "*") {
	case "uint32":
		return "a row number, 0 to 4294967295"
	case "int", "int64":
		return "an integer"
	case "float64":
		return "a number"
	case "string":
		return "a string"
	}
	if strings.HasPrefix(goType, "[]") {
		return "a list"
	}
	return "an object"
}

// members lists the JSON names of a document and of what it holds.
func members(doc any) []string {
	var names []string
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
				walk(t.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeOf(doc))
	return names
}
