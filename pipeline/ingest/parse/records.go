package parse

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// oneLine joins the words of a text with single spaces.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\t\r") && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// jsonl makes a document of each line. Lines that are not valid are left out; the error names the
// first of them and comes after all other lines.
func (j *job) jsonl(src *source, yield func(Document) error) error {
	var first error
	failed := 0
	for {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		var d Document
		line, err := src.next()
		switch {
		case errors.Is(err, io.EOF):
			if failed > 1 {
				return fmt.Errorf("%w (and %d more lines; all others are taken)", first, failed-1)
			}
			return first
		case err == nil && blank(string(line)):
			continue
		case err == nil:
			d, err = record(string(line), src.n)
		case !errors.Is(err, ErrTooLarge):
			return fmt.Errorf("line %d: %w", src.n, err)
		}
		if err != nil {
			failed++
			first = cmp.Or(first, fmt.Errorf("line %d: %w", src.n, err))
			continue
		}
		if err := yield(d); err != nil {
			return err
		}
	}
}

// record makes a document of one JSON value. In an object, _id or id is the name of the record,
// title the title, and text, content or body the text; other texts and numbers are values for
// filters. An object without a text is shown as it is.
func record(line string, n int) (Document, error) {
	d := Document{Record: strconv.Itoa(n)}
	var values map[string]jsontext.Value
	body, shown := "", strings.TrimSpace(line)
	if strings.HasPrefix(shown, "{") {
		if err := json.Unmarshal([]byte(shown), &values, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
			return d, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	} else if !jsontext.Value(shown).IsValid() {
		return d, fmt.Errorf("%w: not JSON", ErrDamaged)
	}
	for name, v := range values {
		var x any
		if v.Kind() == '{' || v.Kind() == '[' || json.Unmarshal(v, &x) != nil {
			continue
		}
		s, isText := x.(string)
		switch {
		case (name == "_id" || name == "id") && isName(s):
			d.Record = oneLine(s)
		case isText && (name == "text" || name == "content" || name == "body") && len(s) > len(body):
			body = s
		default:
			d.value(name, x)
		}
	}
	if strings.TrimSpace(body) == "" {
		body = shown
	}
	where := retrieve.Lines{From: n, To: n}
	for part := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if part = strings.Trim(part, "\n"); !blank(part) {
			d.Blocks = append(d.Blocks, Block{Text: part, Lines: where})
		}
	}
	return d, nil
}

// isName reports whether the name of a record can be a part of an ID.
func isName(s string) bool {
	return strings.TrimSpace(s) != "" && len(s) <= 256 && !strings.ContainsFunc(oneLine(s), unicode.IsControl)
}
