// Command show prints one screen about a built window: the question, the first five items that
// were found, the numbers, where the rest is, and other questions to try.
//
//	go run ./testdata/demo/show RESULT.json WINDOW.txt QUESTIONS.tsv
//
// RESULT is what "anchor-host build -o json" writes. The window is written to WINDOW. Each line of
// QUESTIONS begins with a question.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// shown is the number of items that are printed.
const shown = 5

// result is what is read of a result.
type result struct {
	Window struct {
		Items []struct {
			ID      string
			Content string
			Source  string
			Score   float64
			Tokens  int `json:"token_count"`
		}
		Query       string
		QueryTokens int `json:"query_tokens"`
		MaxTokens   int `json:"max_tokens"`
		UsedTokens  int `json:"used_tokens"`
	}
	Output      string            `json:"formatted_output"`
	Overflow    []json.RawMessage `json:"overflow_items"`
	BuildTimeMS float64           `json:"build_time_ms"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "show: want RESULT.json WINDOW.txt QUESTIONS.tsv")
		os.Exit(2)
	}
	err := show(os.Args[1], os.Args[2])
	if err == nil {
		err = others(os.Args[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "show:", err)
		os.Exit(1)
	}
}

func show(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var r result
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := os.WriteFile(to, []byte(r.Output), 0o600); err != nil {
		return err
	}
	w := &r.Window
	fmt.Printf("\nQuestion: %s\n\n", w.Query)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tITEM\tSCORE\tTOKENS\tBEGINS WITH")
	found := 0
	for i := range w.Items {
		it := &w.Items[i]
		if it.Source != "retrieval" {
			continue
		}
		if found++; found <= shown {
			_, name, _ := strings.Cut(it.ID, ":")
			fmt.Fprintf(table, "%d\t%s\t%.3f\t%d\t%s\n", found, name, it.Score, it.Tokens, excerpt(it.Content, strings.Split(name, "#")[0]))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	used := w.UsedTokens + w.QueryTokens
	fmt.Printf("\n%d of %d tokens, %d items found in the window, %d left out, %.0f ms.\n", used, w.MaxTokens, found, len(r.Overflow), r.BuildTimeMS)
	fmt.Printf("The window as a model gets it: %s\nWhy each item is in it or not:  build/anchor-host explain %s\n", to, from)
	return nil
}

// others prints the questions to try.
func others(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Println("\nOthers to try, such as make demo Q=\"How do I walk a directory tree?\":")
	for line := range strings.Lines(string(data)) {
		question, _, _ := strings.Cut(line, "\t")
		fmt.Println("  " + question)
	}
	return nil
}

// excerpt returns the beginning of a text without its heading, in one line.
func excerpt(text, heading string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, heading))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > 60 {
		runes = append(runes[:59], '…')
	}
	return string(runes)
}
