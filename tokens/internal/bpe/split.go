package bpe

// pollBytes is the number of bytes of text between two checks of the context.
const pollBytes = 32 << 10

// cursor finds the pieces into which a split pattern cuts a text. The patterns do not look
// behind: the end of a piece depends only on the text from its start on.
type cursor struct {
	classes *classTable
	s       string
	done    <-chan struct{} // nil: cannot be cancelled
	stopped bool            // the context has ended; the results are void
}

// poll checks the context and reports whether to stop.
func (c *cursor) poll() bool {
	select {
	case <-c.done:
		c.stopped = true
	default:
	}
	return c.stopped
}

// while returns the end of the run of characters from j on that have a class
// of mask.
func (c *cursor) while(j int, mask uint8) int {
	for s := c.s; ; {
		for end := min(len(s), j+pollBytes); j < end; {
			if b := s[j]; b < 0x80 {
				if c.classes.ascii[b]&mask == 0 {
					return j
				}
				j++
				continue
			}
			class, w := c.classes.at(s, j)
			if class&mask == 0 {
				return j
			}
			j += w
		}
		if j >= len(s) || c.poll() {
			return j
		}
	}
}

// until returns the end of the run of characters from j on that have no class
// of mask.
func (c *cursor) until(j int, mask uint8) int {
	for s := c.s; ; {
		for end := min(len(s), j+pollBytes); j < end; {
			class, w := c.classes.at(s, j)
			if class&mask != 0 {
				return j
			}
			j += w
		}
		if j >= len(s) || c.poll() {
			return j
		}
	}
}

// nextCL100K returns the end of the piece that starts at i, i < len(s), according to the
// pattern of cl100k_base:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func nextCL100K(c *cursor, i int) int {
	if n := contraction(c.s, i); n > 0 {
		return i + n
	}
	class, w := c.classes.at(c.s, i)
	switch {
	case class&isLetter != 0:
		return c.while(i+w, isLetter)
	case class&isNumber != 0:
		return c.digits(i + w)
	case class&isNewline == 0 && i+w < len(c.s):
		// Any other character may come before the letters of a word.
		if next, nw := c.classes.at(c.s, i+w); next&isLetter != 0 {
			return c.while(i+w+nw, isLetter)
		}
	}
	return c.other(i, class, w, false)
}

// nextO200K returns the end of the piece that starts at i, i < len(s), according to the
// pattern of o200k_base, where U is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L is
// [\p{Ll}\p{Lm}\p{Lo}\p{M}]:
//
//	[^\r\n\p{L}\p{N}]?U*L+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?U+L*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func nextO200K(c *cursor, i int) int {
	if end := c.wordO200K(i); end > i {
		return end + contraction(c.s, end)
	}
	class, w := c.classes.at(c.s, i)
	if class&isNumber != 0 {
		return c.digits(i + w)
	}
	return c.other(i, class, w, true)
}

// wordO200K matches the word alternatives of o200k_base at i, without a contraction. It returns
// i if neither matches.
func (c *cursor) wordO200K(i int) int {
	class, w := c.classes.at(c.s, i)
	switch {
	case class&isLetter != 0:
		end, _ := c.word(i)
		return end
	case class&(isNumber|isNewline) == 0:
		return c.prefixedWord(i, class, w)
	}
	return i
}

// nextGPT2 returns the end of the piece that starts at i, i < len(s), according to the
// pattern of r50k_base and p50k_base:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func nextGPT2(c *cursor, i int) int {
	if n := contraction(c.s, i); n > 0 && isLowerASCII(c.s[i+1:i+n]) {
		return i + n
	}
	class, w := c.classes.at(c.s, i)
	if c.s[i] == ' ' && i+1 < len(c.s) {
		if next, nw := c.classes.at(c.s, i+1); next&isSpace == 0 {
			class, w = next, 1+nw
		}
	}
	switch {
	case class&isLetter != 0:
		return c.while(i+w, isLetter)
	case class&isNumber != 0:
		return c.while(i+w, isNumber)
	case class&isSpace != 0:
		return c.space(i, false)
	}
	return c.until(i+w, isSpace|isLetter|isNumber)
}

func isLowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

// contraction returns the length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at s[i], or 0. The engine
// of tiktoken-go maps each character to lower case, and no character outside ASCII maps to
// one of these letters. So the long s and the Kelvin sign, which full case folding would
// accept, do not match.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	switch s[i+1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if i+2 < len(s) && s[i+2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if i+2 < len(s) && s[i+2]|0x20 == 'l' {
			return 3
		}
	}
	return 0
}

// digits matches the rest of \p{N}{1,3} after its first character.
func (c *cursor) digits(j int) int {
	for n := 1; n < 3 && j < len(c.s); n++ {
		class, w := c.classes.at(c.s, j)
		if class&isNumber == 0 {
			break
		}
		j += w
	}
	return j
}

// prefixedWord matches the two word alternatives of o200k_base at a character
// that is no letter, number or newline, and returns i if neither matches.
func (c *cursor) prefixedWord(i int, class uint8, w int) int {
	if j := i + w; j < len(c.s) {
		if next, _ := c.classes.at(c.s, j); next&isCased != 0 {
			end, lower := c.word(j)
			if lower || class&isMark == 0 {
				return end
			}
		}
	}
	if class&isMark != 0 {
		// The first alternative has nothing after the mark to match. It then matches without
		// its optional character, and the mark alone is its L+.
		return i + w
	}
	return i
}

// word matches U*L+ at i, or U+L* if that does not match. It returns the end of the match
// and whether the first form matched. The character at i is in U or L.
func (c *cursor) word(i int) (end int, lower bool) {
	s := c.s
	lastLower := -1 // end of the last character of the U run that is also in L
	for j, poll := i, i+pollBytes; ; {
		if j >= len(s) || j >= poll && c.poll() {
			end = j
			break
		}
		if j >= poll {
			poll = j + pollBytes
		}
		class, w := c.classes.at(s, j)
		if class&isUpper == 0 {
			if class&isLower != 0 { // U* stops here and L+ takes over
				return c.while(j+w, isLower), true
			}
			end = j
			break
		}
		j += w
		if class&isLower != 0 {
			lastLower = j
		}
	}
	if lastLower >= 0 {
		return lastLower, true
	}
	return end, false
}

// other matches the alternatives after those for words and numbers: punctuation with the
// newlines after it (if slash is set, also slashes), and whitespace.
func (c *cursor) other(i int, class uint8, w int, slash bool) int {
	if class&isSpace == 0 {
		return c.punctuation(i+w, slash)
	}
	if c.s[i] == ' ' && i+1 < len(c.s) {
		if next, nw := c.classes.at(c.s, i+1); next&(isSpace|isLetter|isNumber) == 0 {
			return c.punctuation(i+1+nw, slash)
		}
	}
	return c.space(i, true)
}

func (c *cursor) punctuation(j int, slash bool) int {
	s := c.s
	j = c.until(j, isSpace|isLetter|isNumber)
	for poll := j + pollBytes; j < len(s) && (s[j] == '\r' || s[j] == '\n' || slash && s[j] == '/'); j++ {
		if j >= poll {
			if poll = j + pollBytes; c.poll() {
				break
			}
		}
	}
	return j
}

// space matches \s*[\r\n]+ (only if newlines is set), \s+(?!\S) and \s+, in this order. At i
// there must be whitespace.
func (c *cursor) space(i int, newlines bool) int {
	s := c.s
	j, newline, last := i, -1, i // ends of the run and its last newline; start of its last character
	for poll := i + pollBytes; j < len(s); {
		if j >= poll {
			if poll = j + pollBytes; c.poll() {
				break
			}
		}
		class, w := c.classes.at(s, j)
		if class&isSpace == 0 {
			break
		}
		last = j
		j += w
		if class&isNewline != 0 {
			newline = j
		}
	}
	switch {
	case newlines && newline >= 0:
		return newline
	case j == len(s) || last == i:
		return j
	}
	return last
}
