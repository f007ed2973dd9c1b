package parse

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// What a mail may have inside of each other, and in all.
const (
	maxMailDepth = 8
	maxMailParts = 1000
)

// mail reads a message: its subject is the title, its text is what it says in plain text, or else in
// HTML, and attachments of kinds that are read follow, each with its name as a heading. It costs 190
// lines.
func (j *job) mail(data []byte) (Document, error) {
	r := &mailReader{job: j}
	if err := r.message(data, 0); err != nil {
		return r.d, err
	}
	if len(r.d.Blocks) == 0 {
		return r.d, ErrNoText
	}
	return r.d, nil
}

type mailReader struct {
	*job
	d     Document
	parts int
}

var mailWords = &mime.WordDecoder{CharsetReader: charset.NewReaderLabel}

// word decodes a value of a header.
func word(s string) string {
	out, err := mailWords.DecodeHeader(s)
	if err != nil {
		out = s
	}
	return oneLine(strings.ToValidUTF8(out, ""))
}

func (r *mailReader) message(data []byte, depth int) error {
	if !r.m.Take(2*len(data)) || !r.m.Work(4*len(data)) {
		return r.m.Err()
	}
	m, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	subject := word(m.Header.Get("Subject"))
	if depth == 0 {
		r.d.Value("title", subject)
		r.d.Value("author", word(m.Header.Get("From")))
		r.d.Value("to", word(m.Header.Get("To")))
		if t, err := m.Header.Date(); err == nil {
			r.d.Time = t.UTC().Truncate(time.Second)
		}
	}
	if subject != "" {
		r.add(&r.d, Block{Kind: Heading, Level: min(depth+1, 9), Text: subject})
	}
	var lines []string
	for _, name := range []string{"From", "To", "Cc", "Date"} {
		if v := word(m.Header.Get(name)); v != "" && len(v) < 4*maxMeta {
			lines = append(lines, name+": "+v)
		}
	}
	if len(lines) > 0 {
		r.add(&r.d, Block{Text: strings.Join(lines, "\n")})
	}
	return r.entity(textproto.MIMEHeader(m.Header), m.Body, depth)
}

// entity reads a part of a mail with its header.
func (r *mailReader) entity(h textproto.MIMEHeader, body io.Reader, depth int) error {
	if r.parts++; depth > maxMailDepth || r.parts > maxMailParts {
		r.warn("a part that is too deep or one of too many is left out")
		return nil
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		return r.multipart(kind, multipart.NewReader(body, params["boundary"]), depth)
	}
	disposition, more, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
	name := word(more["filename"])
	if name == "" {
		name = word(params["name"])
	}
	if Media(name) || strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/") {
		return nil // without decoding
	}
	data, err := r.decoded(h.Get("Content-Transfer-Encoding"), body)
	if err != nil {
		return err
	}
	if kind == "message/rfc822" {
		if err := r.message(data, depth+1); !errors.Is(err, ErrDamaged) {
			return err
		}
		return nil
	}
	f := FormatOfType(kind)
	if f == "" || name != "" && disposition == "attachment" {
		f = FormatOf(name, data)
	}
	return r.part(f, name, params["charset"], data, disposition == "attachment" || name != "", depth)
}

// decoded reads the body of a part.
func (r *mailReader) decoded(encoding string, body io.Reader) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	var b []byte
	for piece := make([]byte, 32<<10); ; {
		n, err := body.Read(piece)
		if !r.m.Work(8 * n) {
			return nil, r.m.Err()
		}
		room, ok := meter.Room(r.m, b, n)
		if !ok {
			return nil, r.m.Err()
		}
		b = append(room, piece[:n]...)
		if err != nil { // what was read of a part that is cut off is still good
			return b, nil
		}
	}
}

// part reads the content of a part. One that cannot be read does not spoil the mail.
func (r *mailReader) part(f Format, name, charset string, data []byte, attached bool, depth int) error {
	if len(bytes.TrimSpace(data)) == 0 || f == FormatMail && depth >= maxMailDepth {
		return nil
	}
	var blocks []Block
	inner := &job{m: r.m, limits: r.limits, charset: charset, mails: r.mails + 1}
	if inner.mails > maxMailDepth {
		return nil
	}
	err := inner.documents(File{Name: name, Format: f}, data, func(d Document) error {
		blocks = append(blocks, d.Blocks...)
		return nil
	})
	switch {
	case r.m.Err() != nil:
		return r.m.Err()
	case err != nil && name != "":
		r.warn(fmt.Sprintf("attachment %.100q is left out: %v", name, err))
		return nil
	case err != nil:
		return nil
	}
	for _, w := range inner.warnings {
		r.warn(strings.TrimSpace(name + " " + w))
	}
	if attached && name != "" && len(blocks) > 0 {
		r.add(&r.d, Block{Kind: Heading, Level: min(depth+2, 9), Text: name})
	}
	for _, b := range blocks {
		b.Lines, b.Exact = Block{}.Lines, false // they are lines of the part
		if b.Kind == Heading {
			b.Level = min(b.Level+2, 9)
		}
		r.add(&r.d, b)
	}
	return nil
}

func (r *mailReader) warn(text string) {
	if len(r.warnings) < 100 && !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// multipart reads the parts of a part. Of alternatives, the first of plain text or the last counts.
func (r *mailReader) multipart(kind string, parts *multipart.Reader, depth int) error {
	var best *struct {
		h    textproto.MIMEHeader
		data []byte
	}
	for {
		p, err := parts.NextRawPart()
		if err != nil {
			break // the end, or a mail that is cut off
		}
		if kind != "multipart/alternative" {
			if err := r.entity(p.Header, p, depth+1); err != nil {
				return err
			}
			continue
		}
		raw, err := r.decoded("", p)
		if err != nil {
			return err
		}
		is := strings.HasPrefix(p.Header.Get("Content-Type"), "text/plain")
		if r.parts++; r.parts > maxMailParts || len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		best = &struct {
			h    textproto.MIMEHeader
			data []byte
		}{p.Header, raw}
		if is {
			break
		}
	}
	if best == nil {
		return r.m.Err()
	}
	return r.entity(best.h, bytes.NewReader(best.data), depth+1)
}
