package plugin

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isDigit(c) || isAlpha(c) }

// endsAt reports whether a number or code may end before pos: no letter or digit follows.
func endsAt(text string, pos int) bool { return pos >= len(text) || !isAlnum(text[pos]) }
