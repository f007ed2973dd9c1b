// Package plugin has the logic of injection-screen: it rates how much a text looks like an
// instruction to the model that reads it.
package plugin

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Found says what was found in a text.
type Found struct {
	// Suspicion is the sum of the weights, 0 to 1.
	Suspicion float64
	// Signs are the names of what was found.
	Signs []string
}

func (f Found) String() string {
	return fmt.Sprintf("suspicion %.2f (%s)", f.Suspicion, strings.Join(f.Signs, ", "))
}

// sign is a sequence of words, each one of several, with at most gap other words between two.
type sign struct {
	name   string
	weight float64
	gap    int
	words  []string // alternatives are separated by spaces
}

const (
	drop  = "ignore disregard forget override bypass skip discard drop neglect ignorez oubliez ignoriere vergiss ignora olvida"
	past  = "previous prior above earlier preceding past former original all any your vorherigen bisherigen précédentes anteriores"
	rules = "instructions instruction rules rule prompt prompts guidelines directions directives context commands constraints anweisungen regeln instrucciones consignes"
	tell  = "reveal print show repeat output display send leak disclose expose post email forward dump"
	inner = "system hidden initial secret internal confidential developer"
)

// signs are what texts for people rarely have.
var signs = []sign{
	{"told to drop its instructions", 0.7, 3, []string{drop, past, rules}},
	{"told to drop its instructions", 0.7, 3, []string{drop, rules, past}},
	{"told to drop its instructions", 0.6, 2, []string{drop, "everything anything", "above before said told"}},
	{"told what it is", 0.5, 2, []string{"you", "are", "now"}},
	{"told what it is", 0.5, 2, []string{"from", "now", "on", "you your"}},
	{"told what it is", 0.5, 1, []string{"act behave respond pretend answer", "as like", "if", "you"}},
	{"told what it is", 0.5, 1, []string{"if", "you", "are", "ai llm language assistant chatbot model"}},
	{"told to give secrets away", 0.7, 3, []string{tell, inner, "prompt message instructions configuration rules"}},
	{"told to give secrets away", 0.6, 4, []string{tell, "your the user users", "password passwords credentials key keys secrets token tokens history conversation"}},
	{"told to deceive the user", 0.6, 2, []string{"not never without don't", "tell telling mention mentioning inform informing reveal show warn", "the this", "user"}},
	{"new instructions", 0.5, 2, []string{"new updated real actual important urgent", "instructions instruction task objective directive", "for follow are is"}},
	{"new instructions", 0.5, 2, []string{"your", "new real actual only", "task goal job objective instructions purpose"}},
	{"addresses the model", 0.3, 3, []string{"ai assistant assistants llm model chatbot agent gpt claude", "must should shall please reading processing summarizing following"}},
	{"told to act", 0.4, 5, []string{"must should immediately now instead please", "call execute run invoke use send click visit open", "tool tools command commands function following link email url"}},
	{"told to say something", 0.5, 3, []string{"respond reply answer say output", "only exactly", "following word phrase text"}},
}

// marks are how chat templates divide the roles. No document has them by accident.
var marks = []string{"<|im_start|>", "<|im_end|>", "<|system|>", "[inst]", "[/inst]", "<<sys>>", "</system>", "<system>", "### system:", "### instruction:", "\nsystem:", "\nassistant:"}

// about are words of texts that describe attacks instead of being one.
var about = []string{"injection", "injections", "jailbreak", "jailbreaks", "attacker", "attackers", "attack", "attacks", "adversarial", "owasp", "vulnerability", "mitigation"}

// discount is the part of the suspicion that stays if the text is about attacks and quotes one.
const discount = 0.5

// Rate rates a text.
func Rate(text string, s *Settings) (f Found) {
	plain := fold(text)
	for _, phrase := range s.Allow {
		plain = strings.ReplaceAll(plain, fold(phrase), " ")
	}
	f.rate(plain)
	if hidden := decoded(text); hidden != "" {
		if f.rate(fold(hidden)); f.Suspicion > 0 {
			f.add("hidden in base64", 0.2)
		}
	}
	words := split(plain)
	if strings.ContainsAny(text, "\"“”«»`'") && slices.ContainsFunc(about, func(w string) bool { return slices.Contains(words, w) }) {
		f.Suspicion *= discount
	}
	f.Suspicion = min(1, f.Suspicion)
	return f
}

func (f *Found) rate(plain string) {
	for _, m := range marks {
		if strings.Contains("\n"+plain, m) {
			f.add("marks of a chat template", 0.6)
			break
		}
	}
	f.look(split(unleet(plain)))
	if joined := unspaced(plain); joined != plain {
		f.look(split(unleet(joined)))
	}
}

// starts are the signs by each of their first words.
var starts = func() map[string][]*sign {
	out := make(map[string][]*sign)
	for i := range signs {
		for _, word := range strings.Fields(signs[i].words[0]) {
			out[word] = append(out[word], &signs[i])
		}
	}
	return out
}()

// look looks for all signs in words.
func (f *Found) look(words []string) {
	for i, word := range words {
		for _, s := range starts[word] {
			if s.at(words[i:]) {
				f.add(s.name, s.weight)
			}
		}
	}
}

// add adds a sign, each name once.
func (f *Found) add(name string, weight float64) {
	if !slices.Contains(f.Signs, name) {
		f.Signs, f.Suspicion = append(f.Signs, name), f.Suspicion+weight
	}
}

// at reports whether the words after the first one, which begins the sign, have the rest of it.
func (s *sign) at(words []string) bool {
	place := 0
	for _, next := range s.words[1:] {
		rest := words[place+1:]
		i := slices.IndexFunc(rest[:min(len(rest), s.gap+1)], func(w string) bool { return oneOf(next, w) })
		if i < 0 {
			return false
		}
		place += 1 + i
	}
	return true
}

// oneOf reports whether a word is among words that spaces separate.
func oneOf(list, word string) bool {
	for len(list) > 0 {
		first, rest, _ := strings.Cut(list, " ")
		if first == word {
			return true
		}
		list = rest
	}
	return false
}

// split returns the words of a text.
func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < utf8.RuneSelf && r != '\'' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}

// inAlphabet has the characters of base64.
var inAlphabet = func() (in [utf8.RuneSelf]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=" {
		in[c] = true
	}
	return in
}()

// decoded returns the texts in a text that are base64, as long as they are ASCII.
func decoded(text string) string {
	const shortest, most = 24, 8
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf || !inAlphabet[r] }) {
		if len(word) < shortest || len(out) == most {
			continue
		}
		data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(word, "="))
		if err == nil && !slices.ContainsFunc(data, func(b byte) bool { return b < ' ' && b != '\n' || b >= utf8.RuneSelf }) {
			out = append(out, string(data))
		}
	}
	return strings.Join(out, "\n")
}
