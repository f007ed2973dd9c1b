// Package office reads the files of offices: DOCX, PPTX and XLSX of Word, PowerPoint and Excel, ODT of
// LibreOffice, and RTF. It uses encoding/xml and archive/zip alone. Each format costs, in lines of
// code: what all share 430, DOCX 440, PPTX 190, ODT 180, XLSX 330, RTF 330.
package office

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/document"
)

// Container is a ZIP file with the parts of a document. Parts are read as they unfold.
type Container struct {
	*document.Job
	parts map[string]*zip.File
}

// Open reads the list of the parts.
func Open(j *document.Job, data []byte) (*Container, error) {
	if bytes.HasPrefix(data, []byte{0xD0, 0xCF, 0x11, 0xE0}) {
		return nil, document.ErrEncrypted // Office keeps encrypted documents in its old container
	}
	const entry = 640 // memory of an entry of the list of parts
	if !j.Meter.Take(entry*bytes.Count(data, []byte("PK\x01\x02"))) || !j.Meter.Work(len(data)) {
		return nil, j.Meter.Err()
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", document.ErrDamaged, err)
	}
	c := &Container{Job: j, parts: map[string]*zip.File{}}
	for _, f := range z.File {
		c.parts[f.Name] = f
	}
	return c, nil
}

// Has reports whether there is such a part.
func (c *Container) Has(name string) bool { return c.parts[name] != nil }

// errNoPart means that a part is not there.
var errNoPart = fmt.Errorf("%w: a part is missing", document.ErrDamaged)

// Open opens a part.
func (c *Container) Open(name string) (io.ReadCloser, error) {
	f := c.parts[name]
	if f == nil {
		return nil, fmt.Errorf("%w: %s", errNoPart, name)
	}
	if f.Flags&1 != 0 {
		return nil, document.ErrEncrypted
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", document.ErrDamaged, name, err)
	}
	return r, nil
}

// Part reads a part, of at most most bytes, whose memory is drawn.
func (c *Container) Part(name string, most int) ([]byte, error) {
	r, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b []byte
	for piece := make([]byte, 32<<10); ; {
		n, err := r.Read(piece)
		if !c.Meter.Work(4 * n) {
			return nil, c.Meter.Err()
		}
		if len(b)+n > most {
			return nil, fmt.Errorf("%w: %s has more than %d bytes", document.ErrTooLarge, name, most)
		}
		room, ok := meter.Room(c.Meter, b, n)
		if !ok {
			return nil, c.Meter.Err()
		}
		b = append(room, piece[:n]...)
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", document.ErrDamaged, name, err)
		}
	}
}

// handler gets the elements of a part, by their names without prefix, and the text between them.
type handler interface {
	start(t *xml.StartElement)
	end(name string)
	text(s string)
}

// read gives a part to a handler. If it is not there, the error is errNoPart.
func (c *Container) read(name string, h handler) error {
	r, err := c.Open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	return readXML(c.Job, r, name, h)
}

// optional is read for a part that not all documents have. Its damage does not matter.
func (c *Container) optional(name string, h handler) {
	if c.Has(name) {
		_ = c.read(name, h)
	}
}

// maxDepth bounds the elements around an element. Real documents have some dozens.
const maxDepth = 512

// errStop ends the reading of a part early.
var errStop = errors.New("enough")

// stopper is a handler that may end the reading.
type stopper interface{ err() error }

func readXML(j *document.Job, r io.Reader, name string, h handler) error {
	x := newTokens(j.Meter, r, name)
	depth := 0
	stop, _ := h.(stopper)
	for {
		t, err := x.next()
		if errors.Is(err, io.EOF) && depth == 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s ends too soon", document.ErrDamaged, name)
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("%w: %s: more than %d elements inside each other", document.ErrDamaged, name, maxDepth)
			}
			h.start(&t)
		case xml.EndElement:
			depth--
			h.end(t.Name.Local)
		case xml.CharData:
			h.text(string(t))
		}
		if stop != nil {
			if err := stop.err(); err != nil {
				return err
			}
		}
	}
}

// tokens are those of an XML document. The memory of each is drawn as its bytes are read, because the
// decoder gives a token only when it has all of it. Entities are not unfolded.
type tokens struct {
	*xml.Decoder
	m    *meter.Meter
	from io.Reader
	name string
	held int
}

func newTokens(m *meter.Meter, r io.Reader, name string) *tokens {
	t := &tokens{m: m, from: r, name: name}
	t.Decoder = xml.NewDecoder(t)
	return t
}

func (t *tokens) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	const attribute = 128
	held := 3*n + attribute*bytes.Count(p[:n], []byte("="))
	t.held += held
	if !t.m.Take(held) || !t.m.Work(12*n) {
		return 0, t.m.Err()
	}
	return n, err
}

// next returns the next token, which is valid until the next call.
func (t *tokens) next() (xml.Token, error) {
	t.m.Give(t.held)
	t.held = 0
	x, err := t.RawToken()
	switch {
	case t.m.Err() != nil:
		return nil, t.m.Err()
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: %s: %w", document.ErrDamaged, t.name, err)
	}
	return x, err
}

// attr returns the value of an attribute by its name without prefix.
func attr(t *xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// properties reads the title, the author and the date of a document.
type properties struct {
	d    *document.Document
	name string
}

func (p *properties) start(t *xml.StartElement) { p.name = t.Name.Local }
func (p *properties) end(string)                { p.name = "" }
func (p *properties) text(s string) {
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	switch p.name {
	case "title":
		p.d.Value("title", s)
	case "creator":
		p.d.Value("author", s)
	case "modified", "date":
		p.d.Value("date", s)
	}
}

// relations are the parts that a part names, by their ids and by the last part of their type.
type relations struct {
	byID, byType map[string]string
	base         string
	count        int
}

// maxRelations bounds what a part may name.
const maxRelations = 100_000

func (c *Container) relations(part string) *relations {
	r := &relations{byID: map[string]string{}, byType: map[string]string{}, base: path.Dir(part)}
	c.optional(path.Join(r.base, "_rels", path.Base(part)+".rels"), r)
	return r
}

func (r *relations) start(t *xml.StartElement) {
	if r.count++; t.Name.Local != "Relationship" || r.count > maxRelations {
		return
	}
	target := attr(t, "Target")
	if rest, ok := strings.CutPrefix(target, "/"); ok {
		target = rest
	} else {
		target = path.Join(r.base, target)
	}
	r.byID[attr(t, "Id")] = target
	r.byType[path.Base(attr(t, "Type"))] = target
}
func (r *relations) end(string)  {}
func (r *relations) text(string) {}
