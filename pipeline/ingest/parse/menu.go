package parse

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// Menus of pages that do not say what their main part is are told by their links: a block that is hardly more than
// links is one if an element around it is called a menu, or if it stands before the first heading.

// linking is how much of a page is links.
type linking struct {
	open         bool // a link is open
	number       int  // of links in the open block
	chars, inner int  // of the block, and of those in links
	in           atom.Atom
	depth        int   // of the element that is called a menu
	blocks       []int // those that are links only, by their index
}

func (l *linking) start(address bool) {
	if l.open = address; address {
		l.number++
	}
}

func (l *linking) count(n int) {
	l.chars += n
	if l.open {
		l.inner += n
	}
}

// enter begins an element.
func (l *linking) enter(a atom.Atom, menu bool) {
	switch {
	case l.depth > 0 && a == l.in:
		l.depth++
	case l.depth == 0 && menu && !optional(a) && !void(a) && a != 0 && a != atom.Body && a != atom.Html:
		l.in, l.depth = a, 1
	}
}

// leave ends an element.
func (l *linking) leave(a atom.Atom) {
	if l.depth > 0 && a == l.in {
		l.depth--
	}
}

// fewestLinks is the number of links of a menu that nothing calls so.
const fewestLinks = 3

// menu reports whether the open block is part of a menu. It notes one, which will have that index, that is a menu if a
// heading follows.
func (l *linking) menu(index int, m *meter.Meter) bool {
	if l.number == 0 || l.chars == 0 || 10*l.inner < 8*l.chars {
		return false
	}
	if l.depth == 0 && l.number >= fewestLinks {
		l.blocks = meter.Append(m, l.blocks, index)
	}
	return l.depth > 0
}

// next begins a block.
func (l *linking) next() { l.number, l.chars, l.inner = 0, 0, 0 }

// dropMenus leaves out the menus before the first heading.
func (h *page) dropMenus() {
	first := slices.IndexFunc(h.d.Blocks, func(b Block) bool { return b.Kind == Heading })
	at := -1
	h.d.Blocks = slices.DeleteFunc(h.d.Blocks, func(Block) bool {
		at++
		if len(h.links.blocks) == 0 || h.links.blocks[0] != at {
			return false
		}
		h.links.blocks = h.links.blocks[1:]
		return at < first
	})
}

// namesMenu reports whether a class or an id is that of a menu.
func namesMenu(names []byte) bool {
	parts := strings.FieldsFunc(strings.ToLower(string(names[:min(len(names), 256)])), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	return slices.ContainsFunc(parts, func(p string) bool {
		switch p {
		case "menu", "mainmenu", "submenu", "menubar", "nav", "navbar", "navigation", "topnav", "sidenav", "sidebar", "breadcrumb", "breadcrumbs":
			return true
		}
		return false
	})
}

// turnsPages reports whether a class or an id is that of what DocBook and Texinfo write around a page: links to those
// before and after, beside titles of these that are no links.
func turnsPages(names []byte) bool {
	for name := range bytes.FieldsSeq(names[:min(len(names), 256)]) {
		switch string(bytes.ToLower(name)) {
		case "navheader", "navfooter", "nav-panel":
			return true
		}
	}
	return false
}
