package bpe

// Pattern finds the end of the piece that starts at a position, as a regular expression does
// that many tokenizers share.
type Pattern func(c *cursor, i int) int

// LookupPattern returns the pattern that does the same as a regular expression in the syntax of
// Oniguruma. Such expressions match letters, numbers and white space of all scripts, and (?i:'s)
// also matches the long s, U+017F.
func LookupPattern(regex string) (Pattern, bool) {
	p, ok := patterns[regex]
	return p, ok
}

const (
	regexGPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

	contractions = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	wordsCL100K  = contractions + `|[^\r\n\p{L}\p{N}]?\p{L}+|`
	tailCL100K   = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	upperO200K = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lowerO200K = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
	tailO200K  = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// patterns are the expressions of GPT-2, Llama 3, Qwen, gpt-oss and Mistral (tekken), and of the
// models that took theirs.
var patterns = map[string]Pattern{
	regexGPT2:                               nextGPT2,
	wordsCL100K + `\p{N}{1,3}` + tailCL100K: nextLlama3,
	wordsCL100K + `\p{N}` + tailCL100K:      nextQwen,
	upperO200K + `*` + lowerO200K + `+` + contractions + `?|` +
		upperO200K + `+` + lowerO200K + `*` + contractions + `?|\p{N}{1,3}` + tailO200K: nextOSS,
	upperO200K + `*` + lowerO200K + `+|` +
		upperO200K + `+` + lowerO200K + `*|\p{N}` + tailO200K: nextTekken,
}

// PatternGPT2 is the pattern of tokenizers that split as GPT-2 does.
func PatternGPT2() Pattern { return nextGPT2 }

// longS returns the length of an apostrophe and a long s at s[i], or 0.
func longS(s string, i int) int {
	if i+2 < len(s) && s[i] == '\'' && s[i+1] == "ſ"[0] && s[i+2] == "ſ"[1] {
		return 3
	}
	return 0
}

func nextLlama3(c *cursor, i int) int {
	if n := longS(c.s, i); n > 0 {
		return i + n
	}
	return nextCL100K(c, i)
}

func nextQwen(c *cursor, i int) int {
	if class, w := c.classes.at(c.s, i); class&isNumber != 0 {
		return i + w
	}
	return nextLlama3(c, i)
}

func nextOSS(c *cursor, i int) int {
	if end := c.wordO200K(i); end > i {
		return end + max(contraction(c.s, end), longS(c.s, end))
	}
	return nextO200K(c, i)
}

func nextTekken(c *cursor, i int) int {
	if end := c.wordO200K(i); end > i {
		return end
	}
	class, w := c.classes.at(c.s, i)
	if class&isNumber != 0 {
		return i + w
	}
	return c.other(i, class, w, true)
}
