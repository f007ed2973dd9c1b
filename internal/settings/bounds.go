package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
)

// What the settings schemas of one manifest have together at most, so that reading a
// manifest is a matter of milliseconds. Real schemas stay far below.
const (
	maxSchemaBytes    = 64 << 10  // of JSON, defaults and descriptions included
	maxSchemaParts    = 1000      // objects and truth values: what may be a subschema
	maxSchemaPaths    = 256 << 10 // bytes of the paths to these parts
	maxSchemaPatterns = 8 << 10   // bytes of regular expressions
	maxSchemaProgram  = 8 << 10   // instructions of compiled regular expressions
)

// What one value has at most.
const (
	maxPattern     = 1 << 10   // bytes of one regular expression
	maxProgram     = 2 << 10   // instructions of one regular expression
	maxSchemaDepth = 64        // objects and lists in one another, in a schema
	maxDepth       = 32        // the same, in settings
	maxBytes       = 256 << 10 // of settings as JSON, without defaults
	maxNumberText  = 64        // characters of a number
	maxExponent    = 400       // of a number: more than a 64-bit float has
)

// complexity adds up what the schemas of a manifest cost to compile. It counts before
// anything is compiled.
type complexity struct {
	bytes, parts, paths, patterns, program int
	refused                                error // what is wrong with a pattern, once something is
}

// text counts the JSON of a schema.
func (c *complexity) text(raw json.RawMessage) error {
	c.bytes += len(raw)
	return tooMany("bytes of schemas", c.bytes, maxSchemaBytes)
}

// value counts a part of a schema. at is where it stands, as a JSON pointer.
func (c *complexity) value(v any, at string, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("%.100s: is too deep (want at most %d objects and lists in one another)", at, maxSchemaDepth)
	}
	switch v := v.(type) {
	case json.Number:
		return checkNumber(v, at)
	case bool:
		return c.part(at)
	case []any:
		for i, e := range v {
			if err := c.value(e, at+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		return c.object(v, at, depth)
	}
	return nil
}

// part counts what may be a subschema.
func (c *complexity) part(at string) error {
	c.parts++
	c.paths += len(at)
	if err := tooMany("subschemas", c.parts, maxSchemaParts); err != nil {
		return fmt.Errorf("%.100s: %w", at, err)
	}
	if err := tooMany("bytes of paths to subschemas", c.paths, maxSchemaPaths); err != nil {
		return fmt.Errorf("%.100s: %w", at, err)
	}
	return nil
}

func (c *complexity) object(v map[string]any, at string, depth int) error {
	if err := c.part(at); err != nil {
		return err
	}
	for key, e := range v {
		if err := c.value(e, at+"/"+key, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// pattern counts a regular expression before it is compiled. Once one is refused, all
// are: the schema is.
func (c *complexity) pattern(text string) error {
	if c.refused == nil {
		c.refused = c.addPattern(text)
	}
	return c.refused
}

func (c *complexity) addPattern(text string) error {
	size, err := patternSize(text)
	if err != nil {
		return fmt.Errorf("pattern %.100q: %w", text, err)
	}
	c.patterns += len(text)
	c.program += size
	if err := tooMany("bytes of patterns", c.patterns, maxSchemaPatterns); err != nil {
		return fmt.Errorf("pattern %.100q: %w", text, err)
	}
	if err := tooMany("instructions of compiled patterns", c.program, maxSchemaProgram); err != nil {
		return fmt.Errorf("pattern %.100q: %w", text, err)
	}
	return nil
}

func tooMany(what string, n, most int) error {
	if n > most {
		return fmt.Errorf("the manifest has more than %d %s (make the settings simpler)", most, what)
	}
	return nil
}

// checkNumber refuses numbers whose exact value fills memory, such as 1e1000000.
func checkNumber(n json.Number, at string) error {
	_, exponent, stated := strings.Cut(strings.ToLower(n.String()), "e")
	e, err := strconv.Atoi(exponent)
	if len(n) > maxNumberText || stated && (err != nil || e > maxExponent || e < -maxExponent) {
		return fmt.Errorf("%.100s: the number %.40s has too many digits (want at most %d characters and an exponent up to %d)", at, n, maxNumberText, maxExponent)
	}
	return nil
}

// checkDepth holds settings against the bounds of one value.
func checkDepth(v any, at string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%.100s: is too deep (want at most %d objects and lists in one another)", at, maxDepth)
	}
	switch v := v.(type) {
	case json.Number:
		return checkNumber(v, at)
	case []any:
		for i, e := range v {
			if err := checkDepth(e, at+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, e := range v {
			if err := checkDepth(e, at+"/"+key, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// patternSize returns about how many instructions a regular expression compiles to. It
// parses, which is cheap for a short text; compiling multiplies repetitions.
func patternSize(text string) (int, error) {
	if len(text) > maxPattern {
		return 0, fmt.Errorf("has %d bytes (want at most %d)", len(text), maxPattern)
	}
	if foldsCase(text) && foldsFar(text) {
		return 0, errors.New("ignores case beyond ASCII (write both cases)")
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, err
	}
	size := programSize(re)
	if size > maxProgram {
		return 0, fmt.Errorf("compiles to more than %d instructions (repeat less)", maxProgram)
	}
	return size, nil
}

// foldsCase reports whether a pattern may hold the flag i.
func foldsCase(text string) bool {
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "(?")
		if !found {
			return false
		}
		flags := after[:len(after)-len(strings.TrimLeft(after, "imsU-"))]
		if strings.Contains(flags, "i") {
			return true
		}
		rest = after
	}
}

// foldsFar reports whether a pattern names runes beyond ASCII: the parser goes through
// each rune of such a range.
func foldsFar(text string) bool {
	return strings.Contains(text, `\x{`) || strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// programSize counts instructions, a little high. It stops growing above maxProgram.
func programSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxProgram+1)
	}
	switch re.Op {
	case syntax.OpConcat:
	case syntax.OpLiteral:
		size += max(1, len(re.Rune))
	case syntax.OpRepeat:
		size *= max(re.Min, re.Max, 1)
		if re.Min != re.Max {
			size += max(re.Min, re.Max, 1)
		}
	case syntax.OpCapture:
		size += 2
	default: // a class, an assertion, a choice or a star
		size += max(1, len(re.Sub)-1)
	}
	return min(size, maxProgram+1)
}
