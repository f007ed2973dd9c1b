package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"unicode/utf8"
)

// Decode reads one JSON value with the number rules of Metadata of package abi.
func Decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if err := trailing(d); err != nil {
		return nil, err
	}
	return normalize(v, 0)
}

// trailing reports data after the value that d has just read.
func trailing(d *json.Decoder) error {
	if _, err := d.Token(); err != io.EOF {
		return errors.New("data follows the JSON value (want one value only)")
	}
	return nil
}

// normalize turns json.Number into int64 or float64, in place, and bounds the
// depth.
func normalize(v any, depth int) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return Number(string(v))
	case map[string]any:
		if depth >= MaxDepth+1 {
			return nil, ErrDepth
		}
		for k, e := range v {
			if v[k], err = normalize(e, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		if depth >= MaxDepth+1 {
			return nil, ErrDepth
		}
		for i, e := range v {
			if v[i], err = normalize(e, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// Number is the value of a JSON number: an int64 or a float64.
func Number(s string) (any, error) {
	kind, bits, _, err := numberScalar(s)
	switch {
	case err != nil:
		return nil, err
	case kind == KindInt:
		return int64(bits), nil
	}
	return math.Float64frombits(bits), nil
}

// Check checks metadata of a guest: types that decoders return, finite numbers,
// UTF-8 in keys and strings, and a bounded depth.
func Check(m map[string]any) error { return checkObject(m, 0) }

func checkObject(m map[string]any, depth int) error {
	for k, v := range m {
		if !utf8.ValidString(k) {
			return AtKey(k, errors.New("key is not valid UTF-8"))
		}
		if err := checkValue(v, depth); err != nil {
			return AtKey(k, err)
		}
	}
	return nil
}

func checkValue(v any, depth int) error {
	switch v := v.(type) {
	case nil, bool, int64:
		return nil
	case float64:
		if v-v != 0 {
			return ErrFinite
		}
		return nil
	case string:
		if !utf8.ValidString(v) {
			return errors.New("string is not valid UTF-8")
		}
		return nil
	}
	if depth >= MaxDepth {
		return ErrDepth
	}
	switch v := v.(type) {
	case map[string]any:
		return checkObject(v, depth+1)
	case []any:
		for _, e := range v {
			if err := checkValue(e, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return errType
}
