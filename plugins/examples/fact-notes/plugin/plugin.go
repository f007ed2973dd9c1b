// Package plugin takes facts from turns without a model. A fact is a sentence in which
// users speak of themselves.
package plugin

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/anchor-host/anchor-host/abi"
)

// Settings are the settings of the operation.
type Settings struct {
	// Verbs are words that make a sentence a fact when they follow "I".
	Verbs []string `json:"verbs"`
	// MaxWords is the length of the longest fact in words, 3 to 200. Default 30.
	MaxWords int `json:"max_words"`
}

// Defaults are the values of settings that are absent.
func (s *Settings) Defaults() {
	*s = Settings{Verbs: []string{"am", "live", "work", "like", "love", "prefer", "need", "use", "have", "want", "hate"}, MaxWords: 30}
}

// Validate refuses values outside of their range.
func (s *Settings) Validate() error {
	if s.MaxWords < 3 || s.MaxWords > 200 {
		return fmt.Errorf("max_words %d: not within 3..200", s.MaxWords)
	}
	return nil
}

// Learn returns the facts in the turns of users. A sentence "my … is …" replaces the text
// of the known fact about the same thing. Facts that are known already are left out.
func Learn(turns []abi.Turn, known []abi.Fact, s *Settings) (reply abi.ExtractReply) {
	known = slices.Clone(known)
	for i := range turns {
		if turns[i].Role != "user" {
			continue
		}
		for _, sentence := range sentences(turns[i].Content) {
			if words := strings.Fields(sentence); len(words) > s.MaxWords || !s.fact(words) {
				continue
			}
			if slices.ContainsFunc(known, func(f abi.Fact) bool { return strings.EqualFold(f.Content, sentence) }) {
				continue
			}
			known = learn(&reply, known, sentence)
		}
	}
	return reply
}

// fact reports whether a sentence is one.
func (s *Settings) fact(words []string) bool {
	if len(words) < 3 {
		return false
	}
	if subject(strings.Join(words, " ")) != "" {
		return true
	}
	return words[0] == "I" && slices.ContainsFunc(s.Verbs, func(v string) bool { return strings.EqualFold(v, words[1]) }) ||
		strings.EqualFold(words[0], "I'm")
}

// learn adds a fact to the answer, or changes the one about the same thing. It returns the
// facts that are known then. A fact without an ID is one that the answer adds.
func learn(reply *abi.ExtractReply, known []abi.Fact, sentence string) []abi.Fact {
	about, at := subject(sentence), -1
	if about != "" {
		at = slices.IndexFunc(known, func(f abi.Fact) bool { return strings.EqualFold(subject(f.Content), about) })
	}
	if at < 0 {
		reply.Add = append(reply.Add, abi.NewFact{Content: sentence})
		return append(known, abi.Fact{Content: sentence})
	}
	before := known[at]
	known[at].Content = sentence
	if before.ID == "" {
		i := slices.IndexFunc(reply.Add, func(f abi.NewFact) bool { return f.Content == before.Content })
		reply.Add[i].Content = sentence
		return known
	}
	if i := slices.IndexFunc(reply.Update, func(e abi.FactEdit) bool { return e.ID == before.ID }); i >= 0 {
		reply.Update[i].Content = sentence
	} else {
		reply.Update = append(reply.Update, abi.FactEdit{ID: before.ID, Content: sentence})
	}
	return known
}

// subject returns the subject of a sentence "my … is …", and "" for other sentences.
func subject(sentence string) string {
	words := strings.Fields(sentence)
	if len(words) < 4 || !strings.EqualFold(words[0], "my") {
		return ""
	}
	for i, w := range words[1:min(len(words)-1, 6)] {
		if i > 0 && (strings.EqualFold(w, "is") || strings.EqualFold(w, "are")) {
			return strings.Join(words[1:i+1], " ")
		}
	}
	return ""
}

// sentences returns the sentences of a text, without the characters that end them.
func sentences(text string) (list []string) {
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune(".!?\n。！？", r) })
		rest := ""
		sentence := text
		if end >= 0 {
			sentence = text[:end]
			rest = strings.TrimLeftFunc(text[end:], func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) })
		}
		if sentence = strings.TrimSpace(sentence); sentence != "" {
			list = append(list, sentence)
		}
		text = rest
	}
	return list
}

// Tidy removes each fact whose text another fact contains. Of equal facts the first stays.
func Tidy(facts []abi.Fact) (reply abi.ExtractReply) {
	texts := make([]string, len(facts))
	for i := range facts {
		texts[i] = strings.ToLower(facts[i].Content)
	}
	for i := range facts {
		for j := range facts {
			if i != j && strings.Contains(texts[j], texts[i]) && (texts[i] != texts[j] || j < i) {
				reply.Remove = append(reply.Remove, facts[i].ID)
				break
			}
		}
	}
	return reply
}
