package hf

import (
	"unicode"
	"unicode/utf8"
)

// addedTokens finds added tokens in a text.
type addedTokens struct {
	next    table
	tokens  []addedToken
	ends    []int32 // index of the token that ends at a node, plus one
	starts  [256]bool
	matched bool // a token is not special, so that a search is needed
}

// newAddedTokens returns the finder of tokens. texts are what it looks for, one for each token.
func newAddedTokens(tokens []addedToken, texts []string) *addedTokens {
	a := &addedTokens{tokens: tokens, ends: []int32{0}}
	for i, text := range texts {
		if text == "" {
			continue
		}
		a.matched = a.matched || !tokens[i].Special
		a.starts[text[0]] = true
		node := uint32(0)
		for k := range len(text) {
			node = a.next.child(node, text[k], uint32(len(a.ends)))
			if int(node) == len(a.ends) {
				a.ends = append(a.ends, 0)
			}
		}
		if a.ends[node] == 0 {
			a.ends[node] = int32(i + 1)
		}
	}
	return a
}

// longest returns the longest token at the start of s, and its length in bytes.
func (a *addedTokens) longest(s string) (token *addedToken, length int) {
	if !a.starts[s[0]] {
		return nil, 0
	}
	node := uint32(0)
	for i := range len(s) {
		next, ok := a.next.find(node, s[i])
		if !ok {
			break
		}
		node = next
		if end := a.ends[node]; end > 0 {
			token, length = &a.tokens[end-1], i+1
		}
	}
	return token, length
}

// each calls between for the texts between the tokens of s, and counts the tokens in r. Special
// tokens are ordinary text.
func (a *addedTokens) each(r *run, s string, between func(text string, at int)) {
	done, polled := 0, 0
	for i := 0; a.matched && i < len(s); {
		if i-polled >= pollNodes {
			if polled = i; r.Poll() {
				return
			}
		}
		token, length := a.longest(s[i:])
		if token == nil {
			i++
			continue
		}
		start, end := i, i+length
		i = end
		if token.Special || token.SingleWord && !single(s, start, end) {
			continue
		}
		if token.LStrip {
			start = max(done, spaceBefore(s, start))
		}
		if token.RStrip {
			end = spaceAfter(s, end)
		}
		if done < start {
			between(s[done:start], done)
		}
		if r.tokens++; r.listing {
			r.ids = append(r.ids, token.ID)
		}
		done = end
	}
	if done < len(s) {
		between(s[done:], done)
	}
}

// single reports whether there is no part of a word before and after s[start:end].
func single(s string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	after, _ := utf8.DecodeRuneInString(s[end:])
	return (start == 0 || !isWord(before)) && (end == len(s) || !isWord(after))
}

// isWord reports whether \w matches.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

func spaceBefore(s string, i int) int {
	for i > 0 {
		r, width := utf8.DecodeLastRuneInString(s[:i])
		if !unicode.IsSpace(r) {
			break
		}
		i -= width
	}
	return i
}

func spaceAfter(s string, i int) int {
	for i < len(s) {
		r, width := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += width
	}
	return i
}

// addedToken is an entry of added_tokens.
type addedToken struct {
	ID         uint32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}
