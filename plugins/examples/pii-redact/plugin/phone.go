package plugin

import "strings"

// group is a run of digits of a phone number, and the separator before it.
type group struct {
	digits string
	before string
	end    int
}

// phone returns the end of the phone number that begins at pos. It accepts the three forms
// that can be distinguished from other numbers:
//
//   - international: + and 8 to 15 digits;
//   - North American: 3, 3 and 4 digits with separators, perhaps after a 1;
//   - with a leading 0, 9 to 12 digits in groups with equal separators.
func phone(text string, pos int) int {
	if pos > 0 && (text[pos-1] == '.' || text[pos-1] == '/' || text[pos-1] == '-' || text[pos-1] == '+') {
		return 0
	}
	plus := text[pos] == '+'
	start := pos
	if plus {
		start++
	}
	groups := phoneGroups(text, start)
	switch {
	case len(groups) == 0:
		return 0
	case plus:
		return international(groups)
	case !endsAt(text, groups[len(groups)-1].end):
		return 0
	}
	if end := northAmerican(groups); end > 0 {
		return end
	}
	if pos > 1 && text[pos-1] == ' ' && isDigit(text[pos-2]) {
		return 0 // in the middle of a longer number
	}
	return national(groups)
}

// phoneGroups reads runs of digits with one or two separators between them.
func phoneGroups(text string, pos int) (groups []group) {
	for total := 0; total <= 15; {
		start := pos
		for pos < len(text) && strings.IndexByte(" -./()", text[pos]) >= 0 && pos-start < 2 {
			pos++
		}
		before := text[start:pos]
		if before != "" && len(groups) == 0 && before != "(" {
			return nil
		}
		if len(groups) > 1 && strings.Contains(before, "(") {
			return groups // another number begins
		}
		start = pos
		for pos < len(text) && isDigit(text[pos]) {
			pos++
		}
		if start == pos || before == "" && len(groups) > 0 {
			return groups
		}
		total += pos - start
		groups = append(groups, group{text[start:pos], before, pos})
	}
	return groups
}

// international accepts groups of 8 to 15 digits in total. It stops at 11 digits, so that it
// does not swallow the next number in the text.
func international(groups []group) (end int) {
	total := 0
	for _, g := range groups {
		if total += len(g.digits); total > 15 {
			break
		}
		if total >= 8 {
			end = g.end
		}
		if total >= 11 {
			break
		}
	}
	return end
}

func northAmerican(groups []group) int {
	if groups[0].digits == "1" {
		groups = groups[1:]
	}
	if len(groups) < 3 || len(groups) > 3 && groups[3].before != " " {
		return 0
	}
	if len(groups[0].digits) != 3 || len(groups[1].digits) != 3 || len(groups[2].digits) != 4 {
		return 0
	}
	if groups[0].digits[0] < '2' || groups[1].digits[0] < '2' {
		return 0 // area codes and exchanges do not begin with these digits
	}
	return groups[2].end
}

// national accepts 030 1234567, (030) 123 45 67, 030/123 45 67 and 01 23 45 67 89, but not a
// date with a time.
func national(groups []group) int {
	if groups[0].digits[0] != '0' || len(groups) < 2 {
		return 0
	}
	total := len(groups[0].digits)
	for i, g := range groups[1:] {
		total += len(g.digits)
		if i > 0 && g.before != groups[2].before {
			return 0
		}
	}
	if dateLike(groups) || total < 9 || total > 12 {
		return 0
	}
	return groups[len(groups)-1].end
}

// dateLike reports whether groups begin with a date such as 01.02.2024.
func dateLike(groups []group) bool {
	return len(groups) >= 3 && len(groups[0].digits) == 2 && len(groups[1].digits) == 2 && len(groups[2].digits) == 4
}
