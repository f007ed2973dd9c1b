package corpus

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// goDecl is one top-level declaration. The slices point into the source.
type goDecl struct {
	kind   string // package, func, method, type, const, var
	name   string // the exported name, Type.Method for methods
	doc    []byte // the comment above, with its markers, to the end of its last line
	source []byte // the declaration, without the body of a function
}

// goScanner finds the package clause and the exported top-level declarations of formatted Go
// source. It reads line by line and considers only lines that begin in the first column, as
// gofmt formats declarations. That is many times faster than parsing. In source that is not
// formatted it may miss symbols.
type goScanner struct {
	src        []byte
	pos        int
	doc        []byte // the comment that ends right above pos, if any
	pastClause bool
}

// next returns the next exported declaration.
func (s *goScanner) next() (goDecl, bool) {
	for s.pos < len(s.src) {
		if decl, ok := s.line(); ok {
			return decl, true
		}
	}
	return goDecl{}, false
}

// line reads the line at pos, and the declaration or comment that begins in it.
func (s *goScanner) line() (goDecl, bool) {
	line := s.src[s.pos:s.lineEnd(s.pos)]
	switch {
	case len(line) == 0 || line[0] == '\t' || line[0] == ' ':
		s.skipTo(s.pos + len(line))
	case bytes.HasPrefix(line, []byte("//")):
		s.comment(s.pos + len(line))
	case bytes.HasPrefix(line, []byte("/*")):
		s.blockComment()
	case bytes.HasPrefix(line, []byte("package ")):
		return s.packageClause(line)
	case bytes.HasPrefix(line, []byte("func ")):
		return s.function()
	case bytes.HasPrefix(line, []byte("type ")):
		return s.group("type", line[5:])
	case bytes.HasPrefix(line, []byte("const ")):
		return s.group("const", line[6:])
	case bytes.HasPrefix(line, []byte("var ")):
		return s.group("var", line[4:])
	default: // import, or not Go
		s.skipTo(s.blockEnd(s.pos))
	}
	return goDecl{}, false
}

// lineEnd returns the end of the line at i, without its newline.
func (s *goScanner) lineEnd(i int) int {
	if n := bytes.IndexByte(s.src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s.src)
}

// skipTo continues after the newline at end and drops the comment.
func (s *goScanner) skipTo(end int) {
	s.doc = nil
	s.pos = min(end+1, len(s.src))
}

// comment adds the comment up to end, exclusive, to the comment before it, or begins a new
// one.
func (s *goScanner) comment(end int) {
	start := s.pos - len(s.doc)
	s.pos = min(s.lineEnd(end)+1, len(s.src))
	s.doc = s.src[start:s.pos]
}

func (s *goScanner) blockComment() {
	n := bytes.Index(s.src[s.pos:], []byte("*/"))
	if n < 0 {
		s.skipTo(len(s.src))
		return
	}
	s.comment(s.pos + n)
}

func (s *goScanner) packageClause(line []byte) (goDecl, bool) {
	decl := goDecl{kind: "package", name: string(identifier(line[len("package "):])), doc: s.doc}
	s.skipTo(s.pos + len(line))
	ok := !s.pastClause && decl.name != ""
	s.pastClause = s.pastClause || ok
	return decl, ok
}

// function reads a function or method and skips its body.
func (s *goScanner) function() (goDecl, bool) {
	decl := goDecl{kind: "func", doc: s.doc}
	rest := s.src[s.pos+len("func ") : s.lineEnd(s.pos)]
	exported := s.pastClause
	if len(rest) > 0 && rest[0] == '(' {
		decl.kind = "method"
		inside, after, _ := bytes.Cut(rest[1:], []byte(")"))
		receiver := receiverType(inside)
		rest = bytes.TrimLeft(after, " ")
		exported = exported && isExported(receiver)
		decl.name = string(receiver) + "."
	}
	name := identifier(rest)
	exported = exported && isExported(name)
	sigEnd := s.signatureEnd()
	if exported {
		decl.name += string(name)
		decl.source = bytes.TrimRight(s.src[s.pos:sigEnd], " ")
	}
	s.skipTo(s.blockEnd(sigEnd))
	return decl, exported
}

// signatureEnd returns the end of the signature at pos: before the body, or the end of a line
// if there is no body.
func (s *goScanner) signatureEnd() int {
	for i := s.pos; ; {
		end := s.lineEnd(i)
		line := trimLine(s.src[i:end])
		if n := len(line); n > 0 && line[n-1] == '{' {
			return i + n - 1
		} else if n > 0 && line[n-1] == '}' {
			if brace := bytes.Index(line, []byte(" {")); brace >= 0 {
				return i + brace
			}
		}
		next := end + 1
		if next >= len(s.src) || s.src[next] != '\t' && s.src[next] != ')' {
			return i + len(line)
		}
		i = next
	}
}

// group reads a type, const or var declaration, with or without parentheses.
func (s *goScanner) group(kind string, rest []byte) (goDecl, bool) {
	decl := goDecl{kind: kind, doc: s.doc}
	end := s.blockEnd(s.pos)
	decl.source = bytes.TrimRight(s.src[s.pos:end], "\r\n ")
	if len(rest) > 0 && rest[0] == '(' {
		decl.name = firstExported(decl.source)
	} else {
		decl.name = string(identifier(rest))
	}
	s.skipTo(end)
	return decl, isExported([]byte(decl.name)) && s.pastClause
}

// blockEnd returns the end of the declaration that begins in the line at i: the end of that
// line, or of the line in the first column that closes a bracket which the line opens.
func (s *goScanner) blockEnd(i int) int {
	end := s.lineEnd(i)
	line := s.src[i:end]
	if bytes.Count(line, []byte("`"))%2 == 1 {
		n := bytes.IndexByte(s.src[end:], '`')
		if n < 0 {
			return len(s.src)
		}
		return s.lineEnd(end + n)
	}
	closing := ""
	if line = trimLine(line); len(line) > 0 {
		switch line[len(line)-1] {
		case '{':
			closing = "\n}"
		case '(':
			closing = "\n)"
		}
	}
	if closing == "" {
		return end
	}
	n := bytes.Index(s.src[end:], []byte(closing))
	if n < 0 {
		return len(s.src)
	}
	return s.lineEnd(end + n + 1)
}

// trimLine removes spaces, and the carriage return of a file from Windows, from the end of a
// line.
func trimLine(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == ' ' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// firstExported returns the first exported name of a declaration in parentheses.
func firstExported(source []byte) string {
	for len(source) > 0 {
		var line []byte
		line, source, _ = bytes.Cut(source, []byte("\n"))
		if len(line) < 2 || line[0] != '\t' || line[1] == '\t' {
			continue
		}
		if name := identifier(line[1:]); isExported(name) {
			return string(name)
		}
	}
	return ""
}

// receiverType returns the name of the type in a receiver such as "c *Client" or
// "*Pointer[T]".
func receiverType(receiver []byte) []byte {
	if i := bytes.IndexByte(receiver, '['); i >= 0 {
		receiver = receiver[:i]
	}
	if i := max(bytes.LastIndexByte(receiver, ' '), bytes.LastIndexByte(receiver, '*')); i >= 0 {
		receiver = receiver[i+1:]
	}
	return identifier(receiver)
}

// identifier returns the identifier at the beginning of b, empty if there is none.
func identifier(b []byte) []byte {
	for i := 0; i < len(b); {
		c := b[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || '0' <= c && c <= '9' && i > 0 {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if c < utf8.RuneSelf || !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return b[:i]
		}
		i += size
	}
	return b
}

func isExported(name []byte) bool {
	r, _ := utf8.DecodeRune(name)
	return unicode.IsUpper(r)
}
