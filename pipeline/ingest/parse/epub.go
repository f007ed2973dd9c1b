package parse

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/charset"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse/office"
)

// maxChapters bounds the pages of a book.
const maxChapters = 10_000

// epub reads the pages of a book in their order, each as HTML. It costs 130 lines.
func (j *job) epub(data []byte) (Document, error) {
	var d Document
	c, err := office.Open(j.work(), data)
	if err != nil {
		return d, err
	}
	root := ""
	err = j.elements(c, "META-INF/container.xml", func(t *xml.StartElement, _ string) {
		if t.Name.Local == "rootfile" && root == "" {
			root = attribute(t, "full-path")
		}
	})
	if err != nil {
		return d, err
	}
	files, order := map[string]string{}, []string(nil)
	err = j.elements(c, root, func(t *xml.StartElement, text string) {
		switch t.Name.Local {
		case "item":
			if len(files) < maxChapters && attribute(t, "properties") != "nav" {
				if href, err := url.PathUnescape(attribute(t, "href")); err == nil {
					files[attribute(t, "id")] = path.Join(path.Dir(root), href)
				}
			}
		case "itemref":
			if len(order) < maxChapters {
				order = append(order, attribute(t, "idref"))
			}
		case "title", "date":
			d.Value(t.Name.Local, text)
		case "creator":
			d.Value("author", text)
		}
	})
	if err != nil {
		return d, err
	}
	return d, j.chapters(c, &d, files, order)
}

// chapters reads the pages of a book.
func (j *job) chapters(c *office.Container, d *Document, files map[string]string, order []string) error {
	size := 0
	for _, id := range order {
		name := files[id]
		if !c.Has(name) {
			continue
		}
		page, err := c.Part(name, j.limits.Text)
		if err != nil {
			return err
		}
		text, err := j.decodeText(page, charset.Declared(page))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		chapter, err := j.html(text)
		if err != nil {
			return err
		}
		for _, b := range chapter.Blocks {
			if size += len(b.Text); size > j.limits.Text {
				return fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, j.limits.Text)
			}
			b.Lines = Block{}.Lines // they are lines of the page
			j.add(d, b)
		}
		j.m.Give(len(text))
	}
	if len(d.Blocks) == 0 {
		return ErrNoText
	}
	return nil
}

// elements gives the elements of a part, and their text once it is read.
func (j *job) elements(c *office.Container, name string, each func(*xml.StartElement, string)) error {
	const most = 8 << 20
	b, err := c.Part(name, most)
	if err != nil {
		return err
	}
	if !j.m.Take(8*len(b)) || !j.m.Work(32*len(b)) {
		return j.m.Err()
	}
	x := xml.NewDecoder(strings.NewReader(string(b)))
	x.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var open *xml.StartElement
	for {
		t, err := x.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			each(&t, "")
			open = &t
		case xml.CharData:
			if open != nil && !blank(string(t)) {
				each(open, oneLine(string(t)))
			}
		case xml.EndElement:
			open = nil
		}
	}
}

func attribute(t *xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
