package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// words make up ordinary texts; some are those of the queries.
var words = strings.Fields(`the quick brown fox jumps over a lazy dog while rain falls on the river and
	plugins filter items by score or words so that a window holds what matters about memory tokens queries`)

// scripts are texts in many scripts, directions and widths of UTF-8.
var scripts = []string{
	"Der Fuß überquert die Straße", "Ήταν μια φορά και έναν καιρό", "Быстрая коричневая лиса", "השועל החום המהיר קופץ",
	"الثعلب البني السريع يقفز", "तेज़ भूरी लोमड़ी कूदती है", "দ্রুত বাদামী শিয়াল", "விரைவான பழுப்பு நரி", "สุนัขจิ้งจอกสีน้ำตาล",
	"敏捷的棕色狐狸跳过懒狗", "素早い茶色の狐が飛び越える", "빠른 갈색 여우가 뛰어넘는다", "ፈጣን ቡናማ ቀበሮ", "სწრაფი ყავისფერი მელა", "Արագ շագանակագույն աղվես",
	"ཝ་མོ་མགྱོགས་པོ།", "မြန်ဆန်သော မြေခွေး", "ᚠᚢᚦᚨᚱᚲ", "𐌰𐌱𐌲𐌳", "𝔣𝔬𝔵 𝟘𝟙𝟚", "👩‍👩‍👧‍👦🏳️‍🌈🇨🇭", "ﬁne ＦＵＬＬｗｉｄｔｈ", "İstanbul ıssız", "ǅ ß ẞ ſ",
}

// oddities are control characters, marks without a letter, and other unusual text in valid
// UTF-8.
var oddities = []string{
	"\x00", "a\x00b", "\x01\x02\x1b[31mred\x1b[0m\x7f", "\r\n\t\v\f", "\u0085\u2028\u2029", "\u0301", "\u0301\u0301\u0301a\u0323",
	"\u202eright\u202c\u2066left\u2069", "\ufeffmark", "\ufffd\ufffe\uffff", "\u200b\u200d\u00ad", "\ue000\U0010ffff",
	`"quoted" \ back / slash`, `{"keep":[0]}`, "</script><!--", "'; DROP TABLE items; --", "%s%n%d", strings.Repeat("\u0300", 200), "",
}

// sentence returns n words.
func sentence(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

// ordinary is the text of row i of an ordinary request.
func ordinary(r *rand.Rand, i int) string {
	return fmt.Sprintf("%d. %s.", i+1, sentence(r, 6+r.IntN(20)))
}

// longText is n bytes of words.
func longText(r *rand.Rand, n int) string {
	block := sentence(r, 4096) + "\n"
	return strings.Repeat(block, n/len(block)+1)[:n]
}
