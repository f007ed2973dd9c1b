package office

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// maxListLevel bounds the levels of a list, as Word does.
const maxListLevel = 9

// numbering has the lists of a document, and counts their items.
type numbering struct {
	lists    map[string]*[maxListLevel]listLevel // by the id of the abstract list
	abstract map[string]string                   // of a list, by its id
	starts   map[string]int                      // of a level of a list that begins anew, by id and level
	counts   map[string]*[maxListLevel]int       // by the id of the abstract list
	begun    map[string]bool                     // lists that have items
}

// listLevel says how the items of a level are marked.
type listLevel struct {
	format, text string
	start        int
}

func newNumbering() *numbering {
	return &numbering{
		lists: map[string]*[maxListLevel]listLevel{}, abstract: map[string]string{}, starts: map[string]int{},
		counts: map[string]*[maxListLevel]int{}, begun: map[string]bool{},
	}
}

// next returns the mark of the next item of a list.
func (n *numbering) next(id string, at int) string {
	list := n.lists[n.abstract[id]]
	if list == nil || at < 0 || at >= maxListLevel {
		return "-"
	}
	counts := n.counts[n.abstract[id]]
	if counts == nil {
		counts = &[maxListLevel]int{}
		for i := range counts {
			counts[i] = list[i].start - 1
		}
		n.counts[n.abstract[id]] = counts
	}
	if !n.begun[id] {
		n.begun[id] = true
		for i := range counts {
			if start, ok := n.starts[id+"/"+strconv.Itoa(i)]; ok {
				counts[i] = start - 1
			}
		}
	}
	counts[at]++
	for i := at + 1; i < maxListLevel; i++ {
		counts[i] = list[i].start - 1
	}
	if l := &list[at]; l.format == "bullet" || l.format == "none" || !strings.Contains(l.text, "%") {
		return "-"
	}
	label := list[at].text
	for i := range maxListLevel {
		mark := "%" + strconv.Itoa(i+1)
		if strings.Contains(label, mark) {
			label = strings.ReplaceAll(label, mark, number(max(counts[i], list[i].start), list[i].format))
		}
	}
	return label[:min(len(label), 64)]
}

// number writes a number in a format of Word.
func number(n int, format string) string {
	switch format {
	case "lowerLetter", "upperLetter":
		if n < 1 || n > 26*30 {
			break
		}
		letter := strings.Repeat(string(rune('a'+(n-1)%26)), (n-1)/26+1)
		if format == "upperLetter" {
			return strings.ToUpper(letter)
		}
		return letter
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "decimalZero":
		if n >= 0 && n < 10 {
			return "0" + strconv.Itoa(n)
		}
	}
	return strconv.Itoa(n)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	values := []int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1}
	for i, s := range []string{"M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"} {
		for ; n >= values[i]; n -= values[i] {
			b.WriteString(s)
		}
	}
	return b.String()
}

// numberingReader reads the part with the lists.
type numberingReader struct {
	n        *numbering
	list     *[maxListLevel]listLevel
	level    *listLevel
	num      string // the open list
	override string // the level that it begins anew
}

func (r *numberingReader) start(t *xml.StartElement) {
	v := strings.Clone(attr(t, "val"))
	if len(v) > 64 {
		v = ""
	}
	switch t.Name.Local {
	case "abstractNum":
		r.list = &[maxListLevel]listLevel{}
		if len(r.n.lists) < maxNames/10 {
			r.n.lists[strings.Clone(attr(t, "abstractNumId"))] = r.list
		}
	case "num":
		r.num, r.list = strings.Clone(attr(t, "numId")), nil
	case "abstractNumId":
		if len(r.n.abstract) < maxNames {
			r.n.abstract[r.num] = v
		}
	case "lvlOverride":
		r.override = strings.Clone(attr(t, "ilvl"))
	case "startOverride":
		if n, err := strconv.Atoi(v); err == nil && len(r.n.starts) < maxNames {
			r.n.starts[r.num+"/"+r.override] = n
		}
	case "lvl":
		if i, err := strconv.Atoi(attr(t, "ilvl")); err == nil && i >= 0 && i < maxListLevel && r.list != nil {
			r.level = &r.list[i]
			r.level.start = 1
		}
	}
	if r.level == nil {
		return
	}
	switch t.Name.Local {
	case "start":
		if n, err := strconv.Atoi(v); err == nil {
			r.level.start = n
		}
	case "numFmt":
		r.level.format = v
	case "lvlText":
		r.level.text = v
	}
}

func (r *numberingReader) end(name string) {
	if name == "lvl" {
		r.level = nil
	}
}
func (r *numberingReader) text(string) {}
