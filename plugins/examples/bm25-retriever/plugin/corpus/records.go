package corpus

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// record is a line of a corpus in the form of the BEIR collections. Some give
// ids as numbers.
type record struct {
	ID    json.RawMessage `json:"_id"`
	Title string          `json:"title"`
	Text  string          `json:"text"`
}

// readRecords emits one document per line of JSON Lines. Empty lines are
// skipped, and so are records without any text.
func readRecords(name string, data []byte, emit func(Document)) error {
	for line := 1; len(data) > 0; line++ {
		var raw []byte
		raw, data, _ = bytes.Cut(data, []byte("\n"))
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		var rec record
		if err := json.Unmarshal(raw, &rec); err != nil {
			return fmt.Errorf("read %s line %d: %w", name, line, err)
		}
		if rec.Title == "" && rec.Text == "" {
			continue
		}
		d := Document{ID: recordID(rec.ID), Title: rec.Title, Text: rec.Text, Path: name}
		if d.ID == "" {
			d.ID = fmt.Sprintf("%s:%d", name, line)
		}
		emit(d)
	}
	return nil
}

// recordID returns the id as text: a string without its quotes, a number as written, or empty
// if there is none.
func recordID(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}
