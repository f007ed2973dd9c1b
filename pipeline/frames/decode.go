package frames

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// fields are the keys of a JSON object and where their values go.
type fields map[string]field

type field struct {
	to       any
	required bool
}

func required(to any) field { return field{to: to, required: true} }
func optional(to any) field { return field{to: to} }

// ignored is a key that older documents have and nothing reads.
func ignored() field { return field{to: new(json.RawMessage)} }

// decodeObject reads a JSON object strictly: an unknown key, a key given twice and a
// missing required key are errors. null is the same as no key.
func decodeObject(object string, data []byte, known fields) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", object, err)
	case tok != json.Delim('{'):
		return fmt.Errorf("%s: %.20s: %w (want an object)", object, data, pipeline.ErrInvalid)
	}
	seen := make(map[string]bool, len(known))
	for dec.More() {
		if err := decodeMember(dec, known, seen); err != nil {
			return fmt.Errorf("%s: %w", object, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("%s: %w", object, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%s: data after the object: %w", object, pipeline.ErrInvalid)
	}
	for key, f := range known {
		if f.required && !seen[key] {
			return fmt.Errorf("%s: %s: missing: %w", object, key, pipeline.ErrInvalid)
		}
	}
	return nil
}

// decodeMember reads one member. seen has the keys read so far, those that were null
// excepted.
func decodeMember(dec *json.Decoder, known fields, seen map[string]bool) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	key, _ := tok.(string)
	f, ok := known[key]
	if !ok {
		return fmt.Errorf("%.100q: unknown key: %w (want one of %s)", key, pipeline.ErrInvalid,
			strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	if _, twice := seen[key]; twice {
		return fmt.Errorf("%s: given twice: %w", key, pipeline.ErrInvalid)
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	present := string(raw) != "null"
	seen[key] = present
	if !present {
		return nil
	}
	if err := json.Unmarshal(raw, f.to); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// cleanJSON checks a JSON value that is kept as text: compact, valid UTF-8, nothing
// for null.
func cleanJSON(data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, bytes.ToValidUTF8(data, []byte("\uFFFD"))); err != nil {
		return nil, err
	}
	if out.String() == "null" {
		return nil, nil
	}
	return out.Bytes(), nil
}

// cleanTime turns a time to UTC and refuses one that RFC 3339 cannot write there.
func cleanTime(t *time.Time) error {
	utc := t.UTC()
	if year := utc.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("year %d: %w (want 0 to 9999)", year, pipeline.ErrInvalid)
	}
	*t = utc
	return nil
}

// listOf reads an array without nulls, which encoding/json would take for zeros.
type listOf[T any] struct{ to *[]T }

func (l *listOf[T]) UnmarshalJSON(data []byte) error {
	var read []*T
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	out := make([]T, len(read))
	for i, v := range read {
		if v == nil {
			return fmt.Errorf("[%d]: null: %w", i, pipeline.ErrInvalid)
		}
		out[i] = *v
	}
	*l.to = out
	return nil
}

// mapOf is the same for an object of strings.
type mapOf struct{ to *map[string]string }

func (m *mapOf) UnmarshalJSON(data []byte) error {
	var read map[string]*string
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	out := make(map[string]string, len(read))
	for k, v := range read {
		if v == nil {
			return fmt.Errorf("%s: null: %w (want a string)", k, pipeline.ErrInvalid)
		}
		out[k] = *v
	}
	*m.to = out
	return nil
}
