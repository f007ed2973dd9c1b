package parse

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// notebook reads the cells of a Jupyter notebook: Markdown as such, code in fences, and what the code
// printed. Pictures are skipped without decoding. It costs 130 lines.
func (j *job) notebook(data []byte) (Document, error) {
	var d Document
	if !j.m.Work(8 * len(data)) {
		return d, j.m.Err()
	}
	n := notebook{job: j, r: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), d: &d, language: "python"}
	err := n.object(func(name string) error {
		if name == "cells" {
			return n.list(n.cell)
		}
		return n.r.SkipValue()
	})
	switch {
	case j.m.Err() != nil:
		return d, j.m.Err()
	case err != nil:
		return d, fmt.Errorf("%w: %w", ErrDamaged, err)
	case len(d.Blocks) == 0:
		return d, ErrNoText
	}
	for i := range d.Blocks {
		if d.Title == "" && d.Blocks[i].Kind == Heading {
			d.Title = d.Blocks[i].Text
		}
	}
	return d, nil
}

type notebook struct {
	*job
	r        *jsontext.Decoder
	d        *Document
	language string
}

// object gives the names of an object, each before its value. What is no object is skipped.
func (n *notebook) object(member func(name string) error) error {
	if n.r.PeekKind() != '{' {
		return n.r.SkipValue()
	}
	if _, err := n.r.ReadToken(); err != nil {
		return err
	}
	for n.r.PeekKind() != '}' {
		t, err := n.r.ReadToken()
		if err != nil {
			return err
		}
		if err := member(t.String()); err != nil {
			return err
		}
	}
	_, err := n.r.ReadToken()
	return err
}

func (n *notebook) list(element func() error) error {
	if n.r.PeekKind() != '[' {
		return n.r.SkipValue()
	}
	if _, err := n.r.ReadToken(); err != nil {
		return err
	}
	for n.r.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := n.r.ReadToken()
	return err
}

// text reads a text, or the lines of one.
func (n *notebook) text() (string, error) {
	var b strings.Builder
	one := func() error {
		if n.r.PeekKind() != '"' {
			return n.r.SkipValue()
		}
		t, err := n.r.ReadToken()
		if err != nil {
			return err
		}
		if s := t.String(); n.m.Take(6 * len(s)) {
			b.WriteString(s)
		}
		return nil
	}
	var err error
	if n.r.PeekKind() == '[' {
		err = n.list(one)
	} else {
		err = one()
	}
	if b.Len() > n.limits.Text {
		return "", fmt.Errorf("%w: more than %d bytes of text", ErrTooLarge, n.limits.Text)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), err
}

func (n *notebook) cell() error {
	kind, source, printed := "", "", ""
	err := n.object(func(name string) (err error) {
		switch name {
		case "cell_type":
			kind, err = n.text()
		case "source":
			source, err = n.text()
		case "outputs":
			err = n.list(func() error {
				out, err := n.output()
				printed += out
				return err
			})
		default:
			err = n.r.SkipValue()
		}
		return err
	})
	if source = strings.Trim(source, "\n"); err != nil || blank(source) {
		return err
	}
	if kind == "markdown" {
		d, err := n.markdown(source)
		for _, b := range d.Blocks {
			b.Lines, b.Exact = Block{}.Lines, false // they are lines of the cell
			n.add(n.d, b)
		}
		return err
	}
	n.add(n.d, Block{Kind: Code, Text: "```" + map[bool]string{true: n.language}[kind == "code"] + "\n" + source + "\n```"})
	if printed = strings.Trim(printed, "\n"); !blank(printed) {
		n.add(n.d, Block{Kind: Code, Text: "```output\n" + printed + "\n```"})
	}
	return nil
}

// maxOutput bounds what is kept of what a cell printed.
const maxOutput = 64 << 10

// output reads what a cell printed, as text.
func (n *notebook) output() (string, error) {
	text := ""
	take := func() error {
		s, err := n.text()
		if len(text) < maxOutput {
			text += strings.ToValidUTF8(s[:min(len(s), maxOutput)], "")
		}
		return err
	}
	err := n.object(func(name string) error {
		switch name {
		case "text":
			return take()
		case "data":
			return n.object(func(kind string) error {
				if kind == "text/plain" {
					return take()
				}
				return n.r.SkipValue()
			})
		}
		return n.r.SkipValue()
	})
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, err
}
