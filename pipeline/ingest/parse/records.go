package parse

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// csv makes rows of a list. Each row is a line with its values, and the names of the columns are
// the header.
func (j *job) csv(text string, tabs bool) (Document, error) {
	var d Document
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	if tabs {
		r.Comma = '\t'
	} else if first, _, _ := strings.Cut(text, "\n"); strings.Count(first, ";") > strings.Count(first, ",") {
		r.Comma = ';'
	}
	var b strings.Builder
	rows, exact := 0, true
	for {
		if err := j.alive(); err != nil {
			return d, err
		}
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return d, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		rows++
		if line, _ := r.FieldPos(0); line != rows {
			exact = false
		}
		if rows > 1 {
			b.WriteByte('\n')
		}
		for i, cell := range record {
			if i > 0 {
				b.WriteString(" | ")
			}
			b.WriteString(oneLine(cell))
		}
		if b.Len() > j.limits.Text {
			return d, fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, j.limits.Text)
		}
	}
	if !blank(b.String()) {
		d.Blocks = []Block{{Kind: Rows, Text: b.String(), Header: 1, Exact: exact, Lines: retrieve.Lines{From: 1, To: 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")}}}
	}
	return d, nil
}

// oneLine joins the words of a text with single spaces.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\n\t\r") && !strings.Contains(s, "  ") {
		return strings.TrimSpace(s)
	}
	return strings.Join(strings.Fields(s), " ")
}

// maxRecord is the longest line of JSON Lines.
const maxRecord = 16 << 20

// jsonl makes a document of each line. Lines that are not valid are left out; the error names the
// first of them and comes after all other lines.
func (j *job) jsonl(text string, yield func(Document) error) error {
	l := lines{text: text}
	var first error
	failed := 0
	for {
		if err := j.ctx.Err(); err != nil {
			return err
		}
		line, _, ok := l.next()
		if !ok {
			break
		}
		if blank(line) {
			continue
		}
		d, err := record(line, l.n)
		if err != nil {
			failed++
			first = cmp.Or(first, fmt.Errorf("line %d: %w", l.n, err))
			continue
		}
		if err := yield(d); err != nil {
			return err
		}
	}
	if failed > 1 {
		return fmt.Errorf("%w (and %d more lines; all others are taken)", first, failed-1)
	}
	return first
}

// record makes a document of one JSON value. In an object, _id or id is the name of the record,
// title the title, and text, content or body the text; other texts and numbers are values for
// filters. An object without a text is shown as it is.
func record(line string, n int) (Document, error) {
	d := Document{Record: strconv.Itoa(n)}
	if len(line) > maxRecord {
		return d, fmt.Errorf("%w: %d bytes, the limit is %d", ErrTooLarge, len(line), maxRecord)
	}
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
		case (name == "_id" || name == "id") && s != "" && len(s) <= 256:
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
