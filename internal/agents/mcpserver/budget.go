package mcpserver

import (
	"strings"
	"unicode/utf8"
)

// bytesPerToken is a careful guess: English has about four bytes a token, code and other scripts about three.
const bytesPerToken = 3

// tokensOf returns how many tokens a text has at most, by its size.
func tokensOf(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// cut returns the beginning of a text that fits into a number of bytes, and whether something is left out.
func cut(text string, size int) (string, bool) {
	if len(text) <= size {
		return text, false
	}
	size = max(size, 0)
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size], true
}

// previews cuts texts so that all of them fit into a number of tokens together: each has an equal share, and what
// short ones leave goes to the long ones.
func previews(texts []string, tokens int) (out []string, cuts []bool) {
	out, cuts = make([]string, len(texts)), make([]bool, len(texts))
	left, open := tokens*bytesPerToken, make([]int, 0, len(texts))
	for i := range texts {
		open = append(open, i)
	}
	for len(open) > 0 { // each round settles those below the share, or all
		share, rest := left/len(open), open[:0:0]
		for _, i := range open {
			if len(texts[i]) <= share {
				out[i] = texts[i]
				left -= len(texts[i])
			} else {
				rest = append(rest, i)
			}
		}
		if len(rest) == len(open) {
			for _, i := range open {
				out[i], cuts[i] = cut(texts[i], share)
			}
			break
		}
		open = rest
	}
	return out, cuts
}

// oneLine returns a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
