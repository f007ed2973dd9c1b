package corpus

import (
	"bytes"
	"fmt"
	"strings"
)

// maxDeclaration bounds the quoted part of a declaration, in bytes. It is enough for a struct
// with its field comments, but not for a table of a thousand constants.
const maxDeclaration = 8 << 10

// Where several platforms declare the same symbols, only the files of this platform are
// read. The documentation on the web shows the same one.
const (
	goOS   = "linux"
	goArch = "amd64"
)

// goPackage emits the documentation of the Go files of one folder.
type goPackage struct {
	path  string // import path below the root
	limit int
	emit  func(Document)
	seen  map[string]int // chunks per symbol; a symbol of a second file is skipped
}

func newGoPackage(dir string, limit int, emit func(Document)) *goPackage {
	return &goPackage{path: dir, limit: limit, emit: emit}
}

// wants reports whether a file may have documentation. Tests and files for other platforms
// have none.
func (p *goPackage) wants(base string) bool {
	stem := strings.TrimSuffix(base, ".go")
	if strings.HasSuffix(stem, "_test") || strings.HasPrefix(stem, "_") {
		return false
	}
	parts := strings.Split(stem, "_")
	if len(parts) < 2 {
		return true
	}
	last, before := parts[len(parts)-1], parts[len(parts)-2]
	if knownArch[last] {
		return last == goArch && (len(parts) < 3 || !knownOS[before] || before == goOS)
	}
	return !knownOS[last] || last == goOS
}

// file emits the documentation in one source file.
func (p *goPackage) file(name string, src []byte) {
	if p.seen == nil {
		p.seen = make(map[string]int)
	}
	s := goScanner{src: src}
	pkgName := ""
	for {
		decl, ok := s.next()
		if !ok {
			return
		}
		if decl.kind == "package" {
			pkgName = decl.name
			if p.path == "." {
				p.path = pkgName
			}
			if unusual(src[:s.pos]) {
				return
			}
		} else if pkgName == "main" {
			return // a command has no importable symbols
		}
		p.declaration(name, decl)
	}
}

// unusual reports whether the build constraint of a file, above its package clause, excludes
// it from the documentation: the file is for go run, or for an experiment.
func unusual(head []byte) bool {
	const constraint = "//go:build "
	i := bytes.Index(head, []byte(constraint))
	if i < 0 || i > 0 && head[i-1] != '\n' {
		return false
	}
	line, _, _ := bytes.Cut(head[i+len(constraint):], []byte("\n"))
	return bytes.HasPrefix(line, []byte("ignore")) ||
		bytes.Contains(line, []byte("goexperiment.")) && !bytes.Contains(line, []byte("!goexperiment."))
}

func (p *goPackage) declaration(file string, decl goDecl) {
	text := commentText(decl.doc)
	if text == "" && (decl.kind != "const" && decl.kind != "var" || !bytes.Contains(decl.source, []byte("\t//"))) {
		return
	}
	id, title := p.path, "package "+p.path
	if decl.kind != "package" {
		id += "." + decl.name
		title = id
		if p.seen[id] > 0 {
			return
		}
		source := decl.source
		if len(source) > maxDeclaration {
			source = append(bytes.ToValidUTF8(source[:maxDeclaration:maxDeclaration], nil), "\n\t// …"...)
		}
		text = strings.TrimSpace(text + "\n\n" + string(source))
	}
	for _, piece := range chunks(strings.ToValidUTF8(text, "\uFFFD"), p.limit) {
		p.seen[id]++
		d := Document{ID: id, Title: title, Text: piece, Path: file, Package: p.path, Kind: decl.kind}
		if n := p.seen[id]; n > 1 {
			d.ID = fmt.Sprintf("%s#%d", id, n)
		}
		if decl.kind != "package" {
			d.Symbol = decl.name
		}
		p.emit(d)
	}
}

// commentText returns a comment without its markers and directives. Line and block comments
// may follow each other.
func commentText(doc []byte) string {
	var b strings.Builder
	for len(doc) > 0 {
		if block, ok := bytes.CutPrefix(doc, []byte("/*")); ok {
			block, doc, _ = bytes.Cut(block, []byte("*/"))
			doc = bytes.TrimLeft(doc, "\r\n")
			b.Write(bytes.TrimRight(block, "\r\n"))
			b.WriteByte('\n')
			continue
		}
		var line []byte
		line, doc, _ = bytes.Cut(doc, []byte("\n"))
		line = bytes.TrimPrefix(bytes.TrimRight(line, "\r"), []byte("//"))
		if isDirective(line) {
			continue
		}
		b.Write(bytes.TrimPrefix(line, []byte(" ")))
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

// isDirective reports whether a line is a directive such as //go:build or //export.
func isDirective(line []byte) bool {
	word, _, found := bytes.Cut(line, []byte(":"))
	if !found || len(word) == 0 || len(word) == len(line)-1 {
		return false
	}
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	next := line[len(word)+1]
	return next >= 'a' && next <= 'z'
}

var (
	knownOS   = set("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos")
	knownArch = set("386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")
)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
