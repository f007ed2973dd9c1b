package evalcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	// defaultQuestions is what somebody edits in a few minutes.
	defaultQuestions = 20
	// maxQuestions is more than anybody edits.
	maxQuestions = 1000
	// maxSentence bounds a question that is made of a sentence, in characters.
	maxSentence = 120
	// maxSections is how many sections of a document questions are made of.
	maxSections = 64
)

// initCommand returns "eval init".
func initCommand(a *cli.App) *cobra.Command {
	var file string
	var count int
	cmd := &cobra.Command{
		Use:   "init [flags] COLLECTION",
		Short: "Write a file of questions about a collection, to edit",
		Long: `Write questions about the documents of a collection into a file, each with the document
that answers it. They are made of headings and first sentences, and easier than those of
your users: write your own in their place, and delete "edit". "anchor-host eval --questions
FILE" then measures what the configuration finds.`,
		Example: `  anchor-host eval init docs
  anchor-host eval init docs --count 50 --file faq.jsonl`,
		Args: cli.Exactly("COLLECTION"),
	}
	cmd.Flags().StringVar(&file, "file", "questions.jsonl", "the file to write; it must not exist")
	cmd.Flags().IntVar(&count, "count", defaultQuestions, fmt.Sprintf("most questions to write, 1 to %d", maxQuestions))
	return records.Command(a, records.Read, cmd, func(ctx context.Context, s *records.Session, args []string) (l cli.Listing, err error) {
		if count < 1 || count > maxQuestions {
			return l, s.Usagef("flag --count: %d (want 1 to %d)", count, maxQuestions)
		}
		list, err := draft(ctx, s, args[0], count)
		if err != nil {
			return l, err
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		l = cli.Listing{Header: []string{"QUESTION", "DOCUMENT"}, Data: list}
		for _, q := range list {
			if err := e.Encode(q); err != nil {
				return l, fmt.Errorf("write questions: %w", err)
			}
			l.Rows = append(l.Rows, []string{cli.OneCell(q.Text), cli.OneCell(q.Documents[0])})
		}
		if err := atomicfile.Create(file, 0o644, b.Bytes()); err != nil {
			return l, fmt.Errorf("write questions: %w (give --file a file that does not exist)", err)
		}
		a.Say("wrote %d questions to %s: edit them, then anchor-host eval --questions %s", len(list), file, file)
		return l, nil
	})
}

// source is a document with the questions that its sections make.
type source struct {
	id        string
	questions []string
}

// draft makes questions about documents that are spread over a collection.
func draft(ctx context.Context, s *records.Session, name string, count int) ([]eval.Question, error) {
	c := retrieve.Collection{Name: name}
	info, err := s.Collection(ctx, c)
	if err != nil {
		return nil, err
	}
	every := max(1, info.Documents/(4*count)) // a large collection is not read into memory
	var sources []source
	seen := 0
	for d, err := range s.ExportCollection(ctx, c) {
		if err != nil {
			return nil, err
		}
		if seen++; seen%every != 0 {
			continue
		}
		if q := questionsOf(&d); len(q) > 0 {
			sources = append(sources, source{strings.Clone(d.ID), q})
		}
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("collection %q: no document has a heading or a sentence to ask about: %w", name, retrieve.ErrNotFound)
	}
	return spread(sources, name, count), nil
}

// spread takes one question of each document, documents evenly, and then a second one.
func spread(sources []source, collection string, count int) (list []eval.Question) {
	used := map[string]bool{}
	step := max(1, len(sources)/count)
	for round := 0; len(list) < count && round < maxSections*step; round++ {
		for i := round % step; i < len(sources) && len(list) < count; i += step {
			d := &sources[i]
			at := round / step
			if at >= len(d.questions) {
				continue
			}
			if q := d.questions[(len(d.questions)/2+at)%len(d.questions)]; !used[q] {
				used[q] = true
				list = append(list, eval.Question{Text: q, Documents: []string{d.id}, Collection: collection, Edit: true})
			}
		}
	}
	return list
}

// questionsOf makes a question of each section of a document.
func questionsOf(d *retrieve.Document) (list []string) {
	for i := range d.Chunks {
		if len(list) == maxSections {
			break
		}
		q := question(&d.Chunks[i], d.Title)
		if q != "" && !slices.Contains(list, q) {
			list = append(list, q)
		}
	}
	return list
}

// question makes a question of the heading of a chunk, or of its first sentence.
func question(c *retrieve.Chunk, title string) string {
	if n := len(c.Headings); n > 0 {
		heading, of := words(c.Headings[n-1]), words(title)
		switch {
		case heading == "":
		case strings.HasSuffix(heading, "?"):
			return heading
		case of == "" || of == heading:
			return "What about " + heading + "?"
		default:
			return "What about " + heading + " in " + of + "?"
		}
	}
	sentence, _, _ := strings.Cut(words(c.Text)+" ", ". ")
	if sentence = strings.TrimSpace(sentence); utf8.RuneCountInString(sentence) > maxSentence {
		sentence = string([]rune(sentence)[:maxSentence])
		if i := strings.LastIndexByte(sentence, ' '); i > 0 {
			sentence = sentence[:i]
		}
	}
	if strings.Count(sentence, " ") < 2 { // a number or a name alone asks nothing
		return ""
	}
	return "Is it true that " + strings.TrimRight(sentence, ".:;,!?") + "?"
}

// words returns a text in one line, without marks of Markdown at its ends.
func words(text string) string {
	return strings.Trim(strings.Join(strings.Fields(text[:min(len(text), 4096)]), " "), "#*`_|-> ")
}
