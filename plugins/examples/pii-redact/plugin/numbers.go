package plugin

import (
	"net/netip"
	"strings"
)

// card returns the end of the payment card number that begins at pos. The number must have
// the length that its network uses, have no groups or the printed ones, and have the right
// Luhn checksum.
func card(text string, pos int) int {
	digits := make([]byte, 0, maxCard)
	var groups []int // their lengths
	for i := pos; i < len(text); {
		start := i
		for i < len(text) && isDigit(text[i]) && len(digits) < maxCard {
			digits = append(digits, text[i]-'0')
			i++
		}
		groups = append(groups, i-start)
		if start == i || !endsAt(text, i) {
			return 0
		}
		if printedGroups(groups) && networkLength(digits) && luhn(digits) {
			return i
		}
		if len(groups) == 5 || i >= len(text) || text[i] != ' ' && text[i] != '-' {
			return 0
		}
		i++
	}
	return 0
}

// maxCard is the largest number of digits of a card number.
const maxCard = 19

// printedGroups reports whether the digits of a card are grouped in a usual way: not at all,
// in fours, or as American Express and Diners do.
func printedGroups(groups []int) bool {
	switch len(groups) {
	case 1:
		return true
	case 3:
		return groups[0] == 4 && groups[1] == 6 && (groups[2] == 4 || groups[2] == 5)
	case 4, 5:
		return groups[0] == 4 && groups[1] == 4 && groups[2] == 4 && groups[3] == 4
	}
	return false
}

// networkLength reports whether a network issues numbers with this beginning and this length.
func networkLength(digits []byte) bool {
	n := len(digits)
	if n < 13 {
		return false
	}
	four := int(digits[0])*1000 + int(digits[1])*100 + int(digits[2])*10 + int(digits[3])
	switch {
	case digits[0] == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case four >= 5100 && four <= 5599, four >= 2221 && four <= 2720: // Mastercard
		return n == 16
	case four/100 == 34, four/100 == 37: // American Express
		return n == 15
	case four >= 3000 && four <= 3059, four/100 == 36, four/100 == 38, four/100 == 39: // Diners
		return n == 14
	case four >= 3528 && four <= 3589: // JCB
		return n >= 16
	case digits[0] == 6: // Discover, UnionPay, Maestro
		return n >= 16
	}
	return false
}

// luhn reports whether the last digit is the right check digit.
func luhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		n := int(d)
		if (len(digits)-i)%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// iban returns the end of the account number that begins at pos. The number must have the
// length for its country and the right checksum, and may have single spaces between groups.
func iban(text string, pos int) int {
	if pos+4 > len(text) || !isAlpha(text[pos]) || !isAlpha(text[pos+1]) || !isDigit(text[pos+2]) || !isDigit(text[pos+3]) {
		return 0
	}
	length := ibanLength[strings.ToUpper(text[pos:pos+2])]
	code := make([]byte, 0, 34)
	for i := pos; i < len(text) && length > 0; i++ {
		if isAlnum(text[i]) {
			code = append(code, text[i])
			if len(code) == length {
				if endsAt(text, i+1) && mod97(code) == 1 {
					return i + 1
				}
				return 0
			}
			continue
		}
		if text[i] != ' ' || !isAlnum(text[i-1]) {
			return 0
		}
	}
	return 0
}

// mod97 returns the remainder that ISO 7064 defines, which is 1 for a valid IBAN. It moves the
// first four characters to the end and reads letters as numbers from 10.
func mod97(code []byte) int {
	rest := 0
	for i := range code {
		c := code[(i+4)%len(code)]
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c&^0x20-'A') + 10) % 97
		}
	}
	return rest
}

// ibanLength has the length of an IBAN by country, from the SWIFT registry.
var ibanLength = func() map[string]int {
	lengths := make(map[string]int)
	for length, countries := range map[int]string{
		15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK",
		21: "CH HR LI LV", 22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL",
		24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM",
		28: "AL AZ BY CY DO GT HN HU LB NI PL SV", 29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
	} {
		for _, country := range strings.Fields(countries) {
			lengths[country] = length
		}
	}
	return lengths
}()

// ipAddress returns the end of the IPv4 or IPv6 address that begins at pos. An address with
// further parts, like a version number (1.2.3.4.5), does not count.
func ipAddress(text string, pos int) int {
	if pos > 0 && (text[pos-1] == '.' || text[pos-1] == ':') {
		return 0
	}
	end, colons, digits := pos, 0, 0
	for end < len(text) && end-pos < len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255") {
		c := text[end]
		if !isDigit(c) && (!isAlpha(c) || c|0x20 > 'f') && c != ':' && c != '.' {
			break
		}
		if c == ':' {
			colons++
		}
		if isDigit(c) {
			digits++
		}
		end++
	}
	if !endsAt(text, end) || digits == 0 {
		return 0
	}
	// A colon or full stop may end the sentence, and a port may follow.
	for candidate := text[pos:end]; candidate != ""; {
		if _, err := netip.ParseAddr(candidate); err == nil {
			return pos + len(candidate)
		}
		if colons == 1 {
			candidate, _, _ = strings.Cut(candidate, ":")
			colons = 0
			continue
		}
		trimmed := strings.TrimRight(candidate, ".:")
		if trimmed == candidate {
			return 0
		}
		candidate = trimmed
	}
	return 0
}
