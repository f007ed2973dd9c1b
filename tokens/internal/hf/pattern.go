package hf

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// matcher finds parts of a text.
type matcher interface {
	// find returns the first match at or after from, or start < 0. A match is not empty.
	find(s string, from int) (start, end int)
	// linewise reports whether no match has anything after a line feed.
	linewise() bool
}

// matcher returns the matcher of the pattern of a part: {"String": …} or {"Regex": …}.
func (p *part) matcher() (matcher, error) {
	var pattern struct {
		String *string `json:"String"`
		Regex  *string `json:"Regex"`
	}
	if len(p.Pattern) > 0 && p.Pattern.Kind() == '"' {
		pattern.String = new(string)
		if err := decode(p.Pattern, pattern.String); err != nil {
			return nil, err
		}
	} else if err := decode(p.Pattern, &pattern); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	switch {
	case pattern.Regex != nil:
		return newExpression(*pattern.Regex)
	case pattern.String == nil || *pattern.String == "":
		return nil, errors.New("pattern: want String or Regex")
	case len(*pattern.String) > maxAddedLen:
		return nil, fmt.Errorf("pattern of %d bytes: %w (at most %d)", len(*pattern.String), errTooMany, maxAddedLen)
	}
	return literal(*pattern.String), nil
}

// literal finds a string.
type literal string

func (l literal) find(s string, from int) (start, end int) {
	i := strings.Index(s[from:], string(l))
	if i < 0 {
		return -1, -1
	}
	return from + i, from + i + len(l)
}

func (l literal) linewise() bool { return !strings.Contains(string(l), "\n") }

// character finds characters with a property.
type character func(r rune) bool

func (c character) find(s string, from int) (start, end int) {
	i := strings.IndexFunc(s[from:], c)
	if i < 0 {
		return -1, -1
	}
	_, width := utf8.DecodeRuneInString(s[from+i:])
	return from + i, from + i + width
}

func (c character) linewise() bool { return true }

// known is an expression of a well-known model. Every text consists of its matches.
type known struct{ bpe.Pattern }

func (known) linewise() bool { return false }

func (k known) find(s string, from int) (start, end int) {
	return from, bpe.NewRun(nil).Next(k.Pattern, s, from)
}

// expression finds a regular expression.
type expression struct {
	re *regexp.Regexp
	// spaces is the number of a group that stands for \s+(?!\S)|\s+, or 0.
	spaces int
}

func (expression) linewise() bool { return false }

func (e expression) find(s string, from int) (start, end int) {
	m := e.re.FindStringSubmatchIndex(s[from:])
	if m == nil {
		return -1, -1
	}
	start, end = from+m[0], from+m[1]
	if e.spaces > 0 && m[2*e.spaces] >= 0 && end < len(s) {
		// Before a visible character, the run leaves its last character to the next match,
		// unless it has only one.
		if _, width := utf8.DecodeLastRuneInString(s[start:end]); end-width > start {
			end -= width
		}
	}
	return start, end
}

const (
	// maxPattern bounds an expression in bytes, maxProgram in instructions of package regexp.
	// Each byte of a text takes at most one step for each instruction.
	maxPattern, maxProgram = 4 << 10, 1000

	spacesBeforeWord = `\s+(?!\S)|\s+`
)

// newExpression returns the matcher of an expression in the syntax of Oniguruma.
func newExpression(pattern string) (matcher, error) {
	if p, ok := bpe.LookupPattern(pattern); ok {
		return known{p}, nil
	}
	fail := func(err error) (matcher, error) { return nil, fmt.Errorf("regular expression %.80q: %w", pattern, err) }
	if len(pattern) > maxPattern {
		return fail(fmt.Errorf("%d bytes: %w (at most %d)", len(pattern), errTooMany, maxPattern))
	}
	var e expression
	head, found := strings.CutSuffix(pattern, spacesBeforeWord)
	found = found && (head == "" || strings.HasSuffix(head, "|") && !strings.HasSuffix(head, `\|`))
	if !found {
		head = pattern
	}
	source, err := translate(head)
	if err != nil {
		return fail(err)
	}
	if found {
		source += `([` + classSpace + `]+)`
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return fail(err)
	}
	if found {
		e.spaces = parsed.MaxCap()
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return fail(err)
	}
	if len(program.Inst) > maxProgram {
		return fail(fmt.Errorf("%d instructions: %w (at most %d)", len(program.Inst), errTooMany, maxProgram))
	}
	if e.re, err = regexp.Compile(source); err != nil {
		return fail(err)
	}
	if e.re.MatchString("") {
		return fail(errors.New("it matches an empty text"))
	}
	return e, nil
}

// The contents of the classes \s and \w of Oniguruma, in the syntax of package regexp.
const (
	classSpace = `\t-\r\x{85}\p{Z}`
	classWord  = `\p{L}\p{M}\p{N}\p{Pc}`
)

// translate writes an expression in the syntax of package regexp, or says what has no
// equivalent there.
func translate(pattern string) (string, error) {
	var out strings.Builder
	class := false
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '\\':
			i++
			if i == len(pattern) {
				return "", errors.New(`it ends in \`)
			}
			s, n, err := escape(pattern[i:], class)
			if err != nil {
				return "", err
			}
			out.WriteString(s)
			i += n - 1
			continue
		case class && c == '[':
			return "", errors.New("a class inside of a class is not supported")
		case class && c == '&' && strings.HasPrefix(pattern[i:], "&&"):
			return "", errors.New("&& in a class is not supported")
		case class && c == ']':
			class = false
		case class:
		case c == '[':
			class = true
			if rest := strings.TrimPrefix(pattern[i+1:], "^"); strings.HasPrefix(rest, "]") {
				return "", errors.New("a class that begins with ] is not supported")
			}
		case c == '^' || c == '$':
			return "", fmt.Errorf("%c is not supported", c)
		case c == '(' && strings.HasPrefix(pattern[i:], "(?") && !strings.HasPrefix(pattern[i:], "(?:") && !strings.HasPrefix(pattern[i:], "(?i:"):
			return "", fmt.Errorf("%.4s is not supported", pattern[i:])
		}
		out.WriteByte(c)
	}
	if class {
		return "", errors.New("a class has no end")
	}
	return out.String(), nil
}

// escape translates what comes after a backslash and returns how many bytes it has read.
func escape(s string, class bool) (string, int, error) {
	c := s[0]
	wrap := func(inside string) string {
		if class {
			return inside
		}
		return "[" + inside + "]"
	}
	switch c {
	case 's':
		return wrap(classSpace), 1, nil
	case 'w':
		return wrap(classWord), 1, nil
	case 'd':
		return `\p{Nd}`, 1, nil
	case 'D':
		return `\P{Nd}`, 1, nil
	case 'S', 'W':
		if class {
			break
		}
		if c == 'S' {
			return "[^" + classSpace + "]", 1, nil
		}
		return "[^" + classWord + "]", 1, nil
	case 'n', 'r', 't', 'f', 'v', 'p', 'P', 'x':
		return `\` + s[:1], 1, nil
	case 'u':
		if len(s) >= 5 {
			return `\x{` + s[1:5] + `}`, 5, nil
		}
	}
	if c < utf8.RuneSelf && !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)) {
		return `\` + s[:1], 1, nil
	}
	return "", 0, fmt.Errorf(`\%c is not supported`, c)
}
