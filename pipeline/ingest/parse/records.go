package parse

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

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
	r := new(jsontext.Decoder)
	for {
		var d Document
		line, err := src.next()
		held := j.m.Held()
		switch {
		case j.m.Err() != nil:
			return fmt.Errorf("line %d: %w", src.n, j.m.Err())
		case errors.Is(err, io.EOF):
			if failed > 1 {
				return fmt.Errorf("%w (and %d more lines; all others are taken)", first, failed-1)
			}
			return first
		case err == nil && blank(string(line)):
			continue
		case err == nil:
			d, err = j.record(r, string(line), src.n)
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
		j.m.Give(j.m.Held() - held)
		j.m.Take(recordBytes)
	}
}

// What a record costs besides its bytes: it becomes a document of its own, and its name is kept.
const recordWork, recordBytes = 2500, 64

// record makes a document of one JSON value. In an object, _id or id is the name of the record,
// title the title, and text, content or body the text; other texts and numbers are values for
// filters. An object without a text is shown as it is.
func (j *job) record(r *jsontext.Decoder, line string, n int) (Document, error) {
	d := Document{Record: strconv.Itoa(n)}
	if !j.m.Take(5*len(line)) || !j.m.Work(recordWork+10*len(line)) {
		return d, j.m.Err()
	}
	body, shown := "", strings.TrimSpace(line)
	if strings.HasPrefix(shown, "{") {
		var err error
		if body, err = members(r, shown, &d); err != nil {
			return d, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	} else if !jsontext.Value(shown).IsValid() {
		return d, fmt.Errorf("%w: not JSON", ErrDamaged)
	}
	if strings.TrimSpace(body) == "" {
		body = shown
	}
	where := retrieve.Lines{From: n, To: n}
	for part := range strings.SplitSeq(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if part = strings.Trim(part, "\n"); !blank(part) {
			j.add(&d, Block{Text: part, Lines: where})
		}
	}
	return d, nil
}

// members takes the values of an object and returns its text. It goes through them one by one: an object
// may have a million.
func members(r *jsontext.Decoder, object string, d *Document) (body string, err error) {
	r.Reset(strings.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := r.ReadToken(); err != nil {
		return "", err
	}
	for r.PeekKind() != '}' {
		t, err := r.ReadToken()
		if err != nil {
			return "", err
		}
		name := t.String()
		switch r.PeekKind() {
		case '{':
			if err := r.SkipValue(); err != nil {
				return "", err
			}
			continue
		case '[':
			values, err := list(r)
			if err != nil {
				return "", err
			}
			d.Value(name, values)
			continue
		}
		v, err := r.ReadToken()
		if err != nil {
			return "", err
		}
		s := ""
		if v.Kind() == '"' {
			s = v.String()
		}
		switch {
		case (name == "_id" || name == "id") && isName(s):
			d.Record = oneLine(s)
		case v.Kind() == '"' && (name == "text" || name == "content" || name == "body") && len(s) > len(body):
			body = s
		default:
			d.Value(name, scalar(v))
		}
	}
	if _, err := r.ReadToken(); err != nil {
		return "", err
	}
	if _, err := r.ReadToken(); !errors.Is(err, io.EOF) {
		return "", cmp.Or(err, errors.New("more than one value"))
	}
	return body, nil
}

// list returns the texts, numbers and truths of a list, without what is deeper. Of a list that is too
// long for a value it returns no more than shows that.
func list(r *jsontext.Decoder) (values []any, err error) {
	if _, err := r.ReadToken(); err != nil {
		return nil, err
	}
	size := 0
	for r.PeekKind() != ']' {
		if k := r.PeekKind(); k == '{' || k == '[' || size > maxMeta+2 {
			if err := r.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		t, err := r.ReadToken()
		if err != nil {
			return nil, err
		}
		if v := scalar(t); v != nil {
			values, size = append(values, v), size+len(t.String())+2
		}
	}
	_, err = r.ReadToken()
	return values, err
}

// scalar returns the value of a token that is no object and no list.
func scalar(t jsontext.Token) any {
	switch t.Kind() {
	case '"':
		return t.String()
	case '0':
		if f, err := t.Float(); err == nil {
			return f
		}
	case 't', 'f':
		return t.Bool()
	}
	return nil
}

// isName reports whether the name of a record can be a part of an ID.
func isName(s string) bool {
	return strings.TrimSpace(s) != "" && len(s) <= 256 && !strings.ContainsFunc(oneLine(s), unicode.IsControl)
}
