package repo

import (
	"path"
	"strings"
	"unicode/utf8"
)

// The bounds of the rules of one project. A repository may be anyone's.
const (
	maxIgnoreFile = 256 << 10
	maxRules      = 10_000
	maxRule       = 1024
)

// rule is one line of a .gitignore.
type rule struct {
	base    string   // the folder of the file, "" for the root
	parts   []string // of the pattern, split at slashes
	keep    bool     // begins with an exclamation mark
	folder  bool     // ends with a slash: only for folders
	anydeep bool     // has no other slash: matches names at any depth
}

// rules decide in their order; the last one that matches counts.
type rules []rule

// with returns the rules and those of a file in a folder. Files of one call may share the rules before.
func (r rules) with(base, file string) rules {
	r = r[:len(r):len(r)]
	for line := range strings.Lines(file) {
		if one, ok := parseRule(base, strings.TrimRight(line, "\r\n")); ok && len(r) < maxRules {
			r = append(r, one)
		}
	}
	return r
}

func parseRule(base, line string) (rule, bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	r := rule{base: base}
	switch {
	case line == "" || line[0] == '#' || len(line) > maxRule || !utf8.ValidString(line):
		return r, false
	case line[0] == '!':
		r.keep, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.folder, line = true, strings.TrimSuffix(line, "/")
	}
	r.anydeep = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	r.parts = strings.Split(line, "/")
	return r, line != ""
}

// ignores reports whether a file or folder is ignored, given that the folders above it are not.
func (r rules) ignores(name string, folder bool) bool {
	for i := len(r) - 1; i >= 0; i-- {
		if r[i].matches(name, folder) {
			return !r[i].keep
		}
	}
	return false
}

func (r *rule) matches(name string, folder bool) bool {
	if r.folder && !folder {
		return false
	}
	if r.base != "" {
		rest, ok := strings.CutPrefix(name, r.base+"/")
		if !ok {
			return false
		}
		name = rest
	}
	if r.anydeep {
		return wild(r.parts[0], path.Base(name))
	}
	return deep(r.parts, strings.Split(name, "/"))
}

// deep matches parts of a pattern and of a path. Two stars as a part stand for any folders, at the end for at least
// one name. It needs no more than len(parts) times len(names) steps of wild.
func deep(parts, names []string) bool {
	// can[j] says that the parts so far match the first j names.
	can := make([]bool, len(names)+1)
	can[0] = true
	for i, part := range parts {
		next := make([]bool, len(names)+1)
		reached := false
		for j := range can {
			switch {
			case part == "**":
				next[j] = reached || can[j] && i < len(parts)-1
				reached = reached || can[j]
			case j < len(names) && can[j] && wild(part, names[j]):
				next[j+1] = true
			}
		}
		can = next
	}
	return can[len(names)]
}

// wild matches a name without slashes against a pattern with stars, question marks, classes in brackets and
// backslashes, as git does. A star is tried anew only from the last one, so that time is at most the product of both
// lengths.
func wild(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		_, size := utf8.DecodeRuneInString(name[n:])
		if next, ok := one(pattern, p, name[n:n+size]); ok {
			p, n = next, n+size
			continue
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(name[mark:])
		p, mark = star+1, mark+size
		n = mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// one matches one character against what the pattern has at p, and returns where the pattern goes on.
func one(pattern string, p int, char string) (next int, ok bool) {
	if p >= len(pattern) {
		return p, false
	}
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return class(pattern, p, char)
	case '\\':
		if p++; p >= len(pattern) {
			return p, false
		}
	}
	return p + len(char), strings.HasPrefix(pattern[p:], char)
}

// class matches a character against a class in brackets. One that does not end matches nothing.
func class(pattern string, p int, char string) (next int, ok bool) {
	p++
	not := p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^')
	if not {
		p++
	}
	c, _ := utf8.DecodeRuneInString(char)
	in := false
	for first := true; p < len(pattern) && (first || pattern[p] != ']'); first = false {
		if name, ok := strings.CutPrefix(pattern[p:], "[:"); ok {
			if name, _, ok = strings.Cut(name, ":]"); ok {
				in = in || posix(name, c)
				p += len(name) + 4
				continue
			}
		}
		low, after := classRune(pattern, p)
		high := low
		if after+1 < len(pattern) && pattern[after] == '-' && pattern[after+1] != ']' {
			high, after = classRune(pattern, after+1)
		}
		in = in || low <= c && c <= high
		p = after
	}
	if p >= len(pattern) {
		return p, false
	}
	return p + 1, in != not
}

// classRune reads a character of a class.
func classRune(pattern string, p int) (rune, int) {
	if pattern[p] == '\\' && p+1 < len(pattern) {
		p++
	}
	r, size := utf8.DecodeRuneInString(pattern[p:])
	return r, p + size
}

// posix reports whether a character is in a named class of ASCII.
func posix(name string, c rune) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	switch name {
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return lower || upper || digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	case "punct":
		return c > ' ' && c < 0x7f && !lower && !upper && !digit
	}
	return false
}
