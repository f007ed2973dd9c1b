// Package plugin has the logic of hyde: what it asks a model, and the queries that follow.
package plugin

import (
	"fmt"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/ask"
)

// Settings are the settings of a step.
type Settings struct {
	// Model is the name of the model in the grant. Empty: the first of the grant.
	Model string `json:"model"`
	// Passages is the number of passages that the model writes, 1 to 8. Default 1.
	Passages int `json:"passages"`
	// MaxTokens is the maximum number of tokens of a passage, 20 to 2000. Default 200.
	MaxTokens int `json:"max_tokens"`
	// KeepQuery also searches with the query itself. Default true.
	KeepQuery bool `json:"keep_query"`
	// About says what the documents are, such as "the manual of a camera". Default: empty.
	About string `json:"about"`
}

// Defaults sets the values that the settings leave out.
func (s *Settings) Defaults() { *s = Settings{Passages: 1, MaxTokens: 200, KeepQuery: true} }

// Validate refuses values out of their range.
func (s *Settings) Validate() error {
	if s.Passages < 1 || s.Passages > 8 {
		return fmt.Errorf("passages %d: not within 1..8", s.Passages)
	}
	if s.MaxTokens < 20 || s.MaxTokens > 2000 {
		return fmt.Errorf("max_tokens %d: not within 20..2000", s.MaxTokens)
	}
	return nil
}

// maxQuery is the number of bytes of the query that the model sees.
const maxQuery = 8000

const task = `Write one passage of a document that answers the query, as the document itself would put it: facts, names and terms, no introduction, no address to the reader.
If you do not know the answer, write what such a passage would probably say. It is used only to find real documents.`

// Questions asks for the passages. They differ in their form, because equal questions have equal
// answers.
func (s *Settings) Questions(query string) []ask.Question {
	forms := [...]string{"", "as a manual or a reference would", "as a scientific abstract would", "as a news report would",
		"as an encyclopedia would", "as a forum answer would", "as a textbook would", "as release notes or a changelog would"}
	list := make([]ask.Question, s.Passages)
	for i := range list {
		do := task
		if s.About != "" {
			do += "\nThe documents are " + s.About + "."
		}
		if forms[i] != "" {
			do += "\nWrite " + forms[i] + "."
		}
		list[i] = ask.Question{Model: s.Model, Task: do, Text: ask.Cut(query, maxQuery), MaxTokens: s.MaxTokens}
	}
	return list
}

// Texts are the texts to search with: each passage after the query, whose words a search by words
// needs. An empty passage is left out.
func Texts(query string, passages []string) []string {
	var texts []string
	for _, p := range passages {
		if p != "" {
			texts = append(texts, query+"\n"+p)
		}
	}
	return texts
}
