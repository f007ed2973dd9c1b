package bpe

import (
	"math/rand/v2"
	"strings"
)

// atoms are the parts of the generated texts: everything that the patterns
// distinguish, and texts that other implementations get wrong.
var atoms = [][]string{
	{"a", "Z", "the", "Hello", "WORLD", "iPhone", "HTTPServer", "getElementById", "naïve", "Straße", "ﬁ", "ǅ", "ǆ", "ʰ", "ª"},
	{" ", "  ", "   ", " a", " The", "\t", "\n", "\r\n", "\r", "\n\n", " \n", "\n ", "\t\n", "\u00a0", "\u3000", "\u2003", "\u2028", "\u0085", "\v", "\f", "\u1680", "\u200b", "\ufeff"},
	{"'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'d", "'D", "'ſ", "'x", "'", "''", "’s", "'r", "'l", "'\u212a", "'İ"},
	{"0", "1", "12", "123", "1234", "3.14", "1,000", "٣٥", "३", "Ⅷ", "½", "²", "〇", "一", "१२३४"},
	{".", ",", "!", "?!", "...", "--", "—", "“", "”", "=", "==", "====", "/", "//", "/\n", "\\", "{}", "();", "</p>", "#", "_", "__", "@", "€", "→", "<|endoftext|>", "<|fim_prefix|>"},
	{"中", "文", "中国", "你好", "世界", "我们的", "。", ",", "、", "「", "」", "日本語", "カタカナ", "ひらがな", "ー", "한국어", "안녕", "ᄒ", "ᅡ", "ᆫ", "𠮷", "㐀"},
	{"при", "вет", "Привет", "МИР", "ё", "й", "Ελλά", "ΣΑΣ", "ς", "שלום", "مرحبا", "هٔ", "नमस्ते", "क्षि", "ไทย", "กำ", "ក្ក", "ქართული", "Ⴀ", "ᲀ", "Ꭰ", "ꭰ"},
	{"😀", "👍🏽", "👩‍💻", "👨‍👩‍👧", "🇩🇪", "🏳️‍🌈", "❤️", "☀", "1️⃣", "\U000e0067", "\u200d", "\ufe0f", "\U0001f3fd"},
	{"\u0301", "\u0308", "e\u0301", "\u0300\u0301", "\u20dd", "\u0903", "\u093f", "\u1abe", "\u064e", "\u05b0", "\u0e31", "A\u030a", "\u0345"},
	{"\x00", "\x01", "\x7f", "\x1b[0m", "\u0080", "\u009f", "\u00ad", "\ue000", "\ufffd", "\ufffe", "\U0010ffff", "\U000f0000", "\u0378"},
	{"\xff", "\xfe", "\x80", "\xbf", "\xc0\x80", "\xc2", "\xe4", "\xe4\xb8", "\xed\xa0\x80", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"},
}

// generator makes texts from a seed.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 0))} }

// text returns a text: mostly a mix of atoms from a few groups, now and then one
// long run, random characters, random bytes, or tokens of v joined at random.
func (g generator) text(v *vocab) string {
	switch g.IntN(16) {
	case 0:
		return g.run(1 + g.IntN(400))
	case 1:
		return g.characters(1 + g.IntN(40))
	case 2:
		b := make([]byte, g.IntN(60))
		for i := range b {
			b[i] = byte(g.Uint32())
		}
		return string(b)
	case 3:
		return g.joined(v, 1+g.IntN(12))
	}
	return g.mix(1 + g.IntN(30))
}

func (g generator) mix(n int) string {
	var b strings.Builder
	groups := make([]int, 1+g.IntN(3))
	for i := range groups {
		groups[i] = g.IntN(len(atoms))
	}
	if g.IntN(4) > 0 { // invalid bytes in one text of four, at most
		for i := range groups {
			groups[i] %= len(atoms) - 1
		}
	}
	for range n {
		group := atoms[groups[g.IntN(len(groups))]]
		if g.IntN(8) == 0 {
			group = atoms[g.IntN(2)]
		}
		b.WriteString(group[g.IntN(len(group))])
	}
	return b.String()
}

// run returns something without a break: one atom, or a few of one group, over
// and over, with something else at either end.
func (g generator) run(n int) string {
	group := atoms[g.IntN(len(atoms)-1)]
	pick := 1 + g.IntN(3)
	first := g.IntN(len(group))
	b := []string{g.mix(1)}
	for size := 0; size < n; {
		a := group[(first+g.IntN(pick))%len(group)]
		b, size = append(b, a), size+len(a)
	}
	return strings.Join(append(b, g.mix(1)), "")
}

func (g generator) characters(n int) string {
	var b strings.Builder
	base, span := g.IntN(0x11000), 1+g.IntN(0x400)
	for range n {
		switch g.IntN(8) {
		case 0:
			b.WriteRune(rune(g.IntN(0x110000)))
		case 1:
			b.WriteByte(' ')
		default:
			b.WriteRune(rune(base + g.IntN(span)))
		}
	}
	return b.String()
}

// joined returns tokens of the vocabulary one after another: the worst case for a
// merge that is not done in order.
func (g generator) joined(v *vocab, n int) string {
	var b strings.Builder
	for b.Len() < 8*n {
		if g.IntN(4) == 0 {
			s := v.long[g.IntN(len(v.long))]
			b.WriteString(v.arena[s.offset : s.offset+s.length])
			continue
		}
		for key := v.shortKeys[g.IntN(len(v.shortKeys))]; key != 0; key >>= 8 {
			b.WriteByte(byte(key))
		}
	}
	return b.String()
}
