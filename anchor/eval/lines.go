package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// maxLine bounds one line of a collection, in bytes. The longest article is much shorter.
const maxLine = 16 << 20

// eachLine calls f with every line that is not blank. Errors of f and errors in the text
// name file and line.
func eachLine(name string, r io.Reader, f func(number int, line []byte) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	number := 0
	for in.Scan() {
		number++
		line := in.Bytes()
		switch {
		case blank(line):
			continue
		case !utf8.Valid(line):
			return problem(name, number, "invalid UTF-8 (convert the file to UTF-8)")
		}
		if err := f(number, line); err != nil {
			return problem(name, number, "%w", err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return problem(name, number+1, "line longer than %d MiB (one document per line; is it JSON Lines?)", maxLine>>20)
	case err != nil:
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// problem returns a mistake in a line of a file; line 0 means the file as a whole.
func problem(name string, line int, format string, args ...any) error {
	return strict.Problems{{File: name, Pos: strict.Pos{Line: int32(line)}, Message: fmt.Errorf(format, args...).Error()}}
}

// record is a line of corpus.jsonl or queries.jsonl. Other keys, such as metadata, are
// ignored.
type record struct {
	ID    *string `json:"_id"`
	Title string  `json:"title"`
	Text  *string `json:"text"`
}

// errRecord describes the form of a line.
var errRecord = errors.New(`want {"_id": "text", "text": "text"}`)

// readRecord decodes one line.
func readRecord(line []byte) (*record, error) {
	var r record
	switch err := json.Unmarshal(line, &r); {
	case err != nil:
		return nil, fmt.Errorf("%w (%w)", err, errRecord)
	case r.ID == nil || *r.ID == "":
		return nil, fmt.Errorf("_id is missing or empty (%w)", errRecord)
	case r.Text == nil:
		return nil, fmt.Errorf("text is missing (%w)", errRecord)
	}
	return &r, nil
}
