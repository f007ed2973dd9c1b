// Package plugin replaces personal data in texts with labels: email addresses,
// phone numbers, IP addresses, payment card numbers and bank accounts (IBAN).
//
// It recognizes each kind by its form and, if it has one, by its checksum. It uses no lists of
// known values, so data without a form of their own (names, street addresses) stay.
package plugin

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Kind is a kind of personal data.
type Kind int

// The kinds, in the order in which find tries them.
const (
	Email Kind = iota
	IBAN
	Card
	IP
	Phone
	kinds
)

// names are the names of the kinds in the settings.
var names = [kinds]string{"email", "iban", "credit_card", "ip", "phone"}

// String returns the name of the kind in the settings.
func (k Kind) String() string { return names[k] }

// Settings are the settings of a step.
type Settings struct {
	// Email, Phone, IP, CreditCard and IBAN switch the kinds on or off. Default true.
	Email      bool `json:"email"`
	Phone      bool `json:"phone"`
	IP         bool `json:"ip"`
	CreditCard bool `json:"credit_card"`
	IBAN       bool `json:"iban"`
	// Labels are the replacements by kind. Default [EMAIL], [PHONE], [IP],
	// [CREDIT_CARD], [IBAN].
	Labels map[string]string `json:"labels"`
	// Allow lists values that stay, such as the address of one's own support. Case does
	// not matter.
	Allow []string `json:"allow"`
	// Counts is the key of the metadata that receives the number of replacements of each kind
	// in a text. Empty, the default, for none.
	Counts string `json:"counts"`

	enabled [kinds]bool
	labels  [kinds]string
	allowed map[string]bool
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() {
	*s = Settings{Email: true, Phone: true, IP: true, CreditCard: true, IBAN: true}
}

// Validate refuses labels of unknown kinds, and prepares the settings for use.
func (s *Settings) Validate() error {
	s.enabled = [kinds]bool{Email: s.Email, IBAN: s.IBAN, Card: s.CreditCard, IP: s.IP, Phone: s.Phone}
	for kind, name := range names {
		s.labels[kind] = "[" + strings.ToUpper(name) + "]"
		if label, ok := s.Labels[name]; ok {
			s.labels[kind] = label
		}
	}
	for name := range s.Labels {
		if !strings.Contains(" "+strings.Join(names[:], " ")+" ", " "+name+" ") {
			return fmt.Errorf("labels: unknown kind %q (known: %s)", name, strings.Join(names[:], ", "))
		}
	}
	s.allowed = make(map[string]bool, len(s.Allow))
	for _, value := range s.Allow {
		s.allowed[strings.ToLower(value)] = true
	}
	return nil
}

// Counts is the number of replacements of each kind.
type Counts [kinds]int

// Add adds the counts of another text.
func (c *Counts) Add(other Counts) {
	for kind, n := range other {
		c[kind] += n
	}
}

// Total returns the number of replacements of all kinds.
func (c Counts) Total() (total int) {
	for _, n := range c {
		total += n
	}
	return total
}

// Object returns the kinds that occurred with their numbers, as a metadata value.
func (c Counts) Object() map[string]any {
	object := make(map[string]any)
	for kind, n := range c {
		if n > 0 {
			object[names[kind]] = int64(n)
		}
	}
	return object
}

// String lists the kinds that occurred: "email 2, phone 1".
func (c Counts) String() string {
	var parts []string
	for kind, n := range c {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", Kind(kind), n))
		}
	}
	return strings.Join(parts, ", ")
}

// Redact returns text with personal data replaced. If there are none, it returns text itself
// and zero counts.
func Redact(text string, s *Settings) (string, Counts) {
	var (
		out    strings.Builder
		counts Counts
		done   int  // text[:done] is in out
		at     = -1 // the next @
	)
	for pos := 0; pos < len(text); {
		if at < pos {
			at = nextAt(text, pos)
		}
		kind, end := s.find(text, pos, at)
		if end == 0 {
			pos = next(text, pos)
			continue
		}
		if !s.allowed[strings.ToLower(text[pos:end])] {
			out.WriteString(text[done:pos])
			out.WriteString(s.labels[kind])
			done = end
			counts[kind]++
		}
		pos = end
	}
	if done == 0 {
		return text, counts
	}
	out.WriteString(text[done:])
	return out.String(), counts
}

// find tries the kinds that may begin at pos and returns the end of the match, 0 when there
// is none. at is the position of the next @.
func (s *Settings) find(text string, pos, at int) (Kind, int) {
	c := text[pos]
	if isAlnum(c) && pos > 0 && isAlnum(text[pos-1]) {
		return 0, 0 // in the middle of a word
	}
	digit, letter := isDigit(c), isAlpha(c)
	possible := [kinds]bool{
		Email: (digit || letter || c >= utf8.RuneSelf) && at-pos <= maxLocal*utf8.UTFMax,
		IBAN:  letter && pos+2 < len(text) && isDigit(text[pos+2]),
		Card:  digit,
		IP:    digit || letter && c|0x20 <= 'f' || c == ':',
		Phone: digit || c == '+' || c == '(',
	}
	for kind, find := range finders {
		if possible[kind] && s.enabled[kind] {
			if end := find(text, pos); end > 0 {
				return Kind(kind), end
			}
		}
	}
	return 0, 0
}

// finders return the end of the match that begins at a position, 0 if there is none.
var finders = [kinds]func(text string, pos int) int{email, iban, card, ipAddress, phone}

// nextAt returns the position of the next @, or a very large one when there is none.
func nextAt(text string, pos int) int {
	if i := strings.IndexByte(text[pos:], '@'); i >= 0 {
		return pos + i
	}
	return math.MaxInt
}

// next returns the next position after pos at which a match may begin: after the word at pos
// and the spaces and signs that follow it.
func next(text string, pos int) int {
	for pos++; pos < len(text) && isAlnum(text[pos-1]) && isAlnum(text[pos]); {
		pos++
	}
	for pos < len(text) && !begins[text[pos]] {
		pos++
	}
	return pos
}

// begins are the characters at which a match may begin.
var begins = func() (table [256]bool) {
	for c := range table {
		table[c] = isAlnum(byte(c)) || c == '+' || c == '(' || c == ':' || c >= utf8.RuneSelf
	}
	return table
}()
