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

// goScanner finds the package clause and the exported top-level declarations
// of formatted Go source. It goes by lines and looks only at those that begin
// in the first column, as gofmt has it; that is many times faster than
// parsing, and where source is not formatted it misses symbols, no more.
type goScanner struct {
	src        []byte
	pos        int
	doc        []byte // the comment that ends right above pos, if any
	pastClause bool
}

// next returns the next declaration that is exported.
func (s *goScanner) next() (goDecl, bool) {
	for s.pos < len(s.src) {
		if decl, ok := s.line(); ok {
			return decl, true
		}
	}
	return goDecl{}, false
}

// line takes the line at pos, and what belongs to it.
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

// lineEnd is the end of the line at i, without its newline.
func (s *goScanner) lineEnd(i int) int {
	if n := bytes.IndexByte(s.src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s.src)
}

// skipTo goes on after the newline at end and forgets the comment.
func (s *goScanner) skipTo(end int) {
	s.doc = nil
	s.pos = min(end+1, len(s.src))
}

// comment takes the comment that ends at end, exclusive, into the comment that
// it continues or begins.
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
	decl := goDecl{kind: "package", name: identifier(line[len("package "):]), doc: s.doc}
	s.skipTo(s.pos + len(line))
	ok := !s.pastClause
	s.pastClause = true
	return decl, ok
}

// function takes a function or method and skips its body.
func (s *goScanner) function() (goDecl, bool) {
	decl := goDecl{kind: "func", doc: s.doc}
	sigEnd := s.signatureEnd()
	sig := s.src[s.pos:sigEnd]
	rest := sig[len("func "):]
	exported := true
	if len(rest) > 0 && rest[0] == '(' {
		decl.kind = "method"
		end := bytes.IndexByte(rest, ')')
		if end < 0 {
			end = len(rest) - 1
		}
		receiver := receiverType(rest[1:end])
		rest = bytes.TrimLeft(rest[end+1:], " ")
		decl.name = receiver + "."
		exported = isExported(receiver)
	}
	name := identifier(rest)
	decl.name += name
	decl.source = bytes.TrimSuffix(bytes.TrimRight(sig, " "), []byte(" {"))
	s.skipTo(s.blockEnd(sigEnd))
	return decl, exported && isExported(name) && s.pastClause
}

// signatureEnd is where the signature at pos ends: before the body, or at the
// end of a line when there is none.
func (s *goScanner) signatureEnd() int {
	for i := s.pos; ; {
		end := s.lineEnd(i)
		line := bytes.TrimRight(s.src[i:end], "\r ")
		if bytes.HasSuffix(line, []byte("{")) {
			return i + len(line) - 1
		}
		if bytes.HasSuffix(line, []byte("}")) {
			if n := bytes.Index(line, []byte(" {")); n >= 0 {
				return i + n
			}
		}
		next := end + 1
		if next >= len(s.src) || s.src[next] != '\t' && s.src[next] != ')' {
			return i + len(line)
		}
		i = next
	}
}

// group takes a type, const or var declaration, alone or in parentheses.
func (s *goScanner) group(kind string, rest []byte) (goDecl, bool) {
	decl := goDecl{kind: kind, doc: s.doc}
	end := s.blockEnd(s.pos)
	decl.source = bytes.TrimRight(s.src[s.pos:end], "\r\n ")
	if len(rest) > 0 && rest[0] == '(' {
		decl.name = firstExported(decl.source)
	} else {
		decl.name = identifier(rest)
	}
	s.skipTo(end)
	return decl, isExported(decl.name) && s.pastClause
}

// blockEnd is the end of the declaration that begins in the line at i: that
// line, or the line in the first column that closes what the line opens.
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
	line = bytes.TrimRight(line, "\r ")
	if len(line) == 0 || !bytes.ContainsRune([]byte("{("), rune(line[len(line)-1])) {
		return end
	}
	for end < len(s.src) {
		next := end + 1
		end = s.lineEnd(min(next, len(s.src)))
		if next < len(s.src) && (s.src[next] == '}' || s.src[next] == ')') {
			return end
		}
	}
	return len(s.src)
}

// firstExported is the first exported name of a declaration in parentheses.
func firstExported(source []byte) string {
	for len(source) > 0 {
		var line []byte
		line, source, _ = bytes.Cut(source, []byte("\n"))
		if len(line) < 2 || line[0] != '\t' || line[1] == '\t' {
			continue
		}
		if name := identifier(line[1:]); isExported(name) {
			return name
		}
	}
	return ""
}

// receiverType is the type's name in a receiver such as "c *Client" or
// "*Pointer[T]".
func receiverType(receiver []byte) string {
	if i := bytes.IndexByte(receiver, '['); i >= 0 {
		receiver = receiver[:i]
	}
	if i := bytes.LastIndexAny(receiver, " *"); i >= 0 {
		receiver = receiver[i+1:]
	}
	return identifier(receiver)
}

// identifier is the identifier at the beginning of b, empty if there is none.
func identifier(b []byte) string {
	for i, r := range string(b) {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return string(b[:i])
		}
	}
	return string(b)
}

func isExported(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}
