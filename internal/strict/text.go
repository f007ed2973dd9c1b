package strict

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// IsScalar reports whether values of a type are scalars in a document, or pointers to such
// values.
func IsScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(textType) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
		return true
	}
	return false
}

// DecodeText fills the scalar v of field f from a text without quotation marks, such as the value
// of an environment variable. It follows the rules of a document. The error has only the message,
// without a position.
func DecodeText(text string, v reflect.Value, f Field) error {
	d, n := &Decoder{ctx: context.Background()}, &Node{Kind: textKind(text, v), Text: text}
	d.Value(n, v, "")
	if len(d.problems) == 0 {
		d.bounds(n, v, &f, "")
	}
	if len(d.problems) > 0 {
		return errors.New(d.problems[0].Message)
	}
	return nil
}

// Bounds checks the numbers and words of a struct that came from no document, by the enum, min and max of
// their fields. Zero values pass: they state nothing. The error begins with the path of the field below prefix.
func Bounds(of any, prefix string) error {
	v := reflect.ValueOf(of).Elem()
	for _, f := range Fields(v.Type()) {
		value := reflect.Indirect(f.Of(v))
		if !value.IsValid() || f.Of(v).IsZero() || len(f.Enum)+len(f.Min)+len(f.Max) == 0 || value.Kind() == reflect.Slice {
			continue
		}
		d := &Decoder{ctx: context.Background()}
		d.bounds(&Node{Kind: String, Text: fmt.Sprint(value)}, value, &f, Join(prefix, f.Key))
		if len(d.problems) > 0 {
			return fmt.Errorf("%s: %s", d.problems[0].Path, d.problems[0].Message)
		}
	}
	return nil
}

// textKind returns the kind that a text has as a value of v. If v is a string, every text is a
// string.
func textKind(text string, v reflect.Value) Kind {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok || t.Kind() == reflect.String {
		return String
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Int
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return Float
	}
	if text == "true" || text == "false" {
		return Bool
	}
	return String
}
