package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// FormatFlag adds -o with the given choices. The first is the default. [App.Run] refuses any other
// value before the command does anything.
func FormatFlag(cmd *cobra.Command, choices ...string) *string {
	var format string
	FormatFlagVar(cmd, &format, "output format: "+strings.Join(choices, ", "), choices...)
	return &format
}

// FormatFlagVar is [FormatFlag] for a variable, with another text of help.
func FormatFlagVar(cmd *cobra.Command, format *string, usage string, choices ...string) {
	cmd.Flags().StringVarP(format, outputFlag, "o", choices[0], usage)
	_ = cmd.Flags().SetAnnotation(outputFlag, choicesOfFlag, choices) // fails only for an unknown flag
}

// NoFormat is for commands whose output has one form only.
const NoFormat = ""

// Command completes a command that prints a listing: it adds -o with the choices table, json and yaml,
// or with the given ones, and prints what the work returns, unless it is empty.
func (a *App) Command(cmd *cobra.Command, work func(cmd *cobra.Command, args []string) (Listing, error), formats ...string) *cobra.Command {
	if formats == nil {
		formats = []string{"table", "json", "yaml"}
	}
	if formats[0] != NoFormat {
		FormatFlag(cmd, formats...)
	}
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		l, err := work(cmd, args)
		if err != nil || l.Empty() {
			return err
		}
		return a.Print(Format(cmd), l)
	})
	return cmd
}

// Format is the form of the output of a command, "" if it has one only.
func Format(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup(outputFlag); f != nil {
		return f.Value.String()
	}
	return NoFormat
}

// outputFlag is the flag for the form of the output. The annotation choicesOfFlag has its values.
const outputFlag, choicesOfFlag = "output", "anchor-host choices"

// checkFormat refuses a value of -o that is not among the choices.
func checkFormat(cmd *cobra.Command) error {
	flag := cmd.Flags().Lookup(outputFlag)
	if flag == nil {
		return nil
	}
	choices := flag.Annotations[choicesOfFlag]
	if choices == nil || slices.Contains(choices, flag.Value.String()) {
		return nil
	}
	return Usagef(cmd, "flag --%s: want one of %s, got %q", outputFlag, strings.Join(choices, ", "), flag.Value)
}

// Listing is data that can be printed as a table.
type Listing struct {
	// Header are the names of the columns of the table, nil for none.
	Header []string
	// Rows are the cells of the table.
	Rows [][]string
	// Text is printed in the place of a table, unless it is empty.
	Text string
	// Data is the value that -o json and -o yaml print.
	Data any
}

// Empty reports whether there is nothing to print.
func (l *Listing) Empty() bool {
	return l.Header == nil && l.Rows == nil && l.Text == "" && l.Data == nil
}

// Print writes a listing as "table" or "text", "json" or "yaml".
func (a *App) Print(format string, l Listing) error {
	var b bytes.Buffer
	switch format {
	case "table", "text", NoFormat:
		if l.Text != "" {
			b.WriteString(l.Text)
			break
		}
		Table(&b, l.Header, l.Rows)
	case "json":
		if err := WriteJSON(&b, l.Data); err != nil {
			return err
		}
	case "yaml":
		if err := writeYAML(&b, l.Data); err != nil {
			return err
		}
	default:
		return fmt.Errorf("output: no format %q", format)
	}
	return a.Emit(&b)
}

// Table writes rows in columns, under a header if there is one. Each cell becomes one line
// of plain text.
func Table(b *bytes.Buffer, header []string, rows [][]string) {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	if header != nil {
		fmt.Fprintln(w, strings.Join(header, "\t"))
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(plain.Line(cell), "\t", " ")
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	w.Flush()
	for line := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// WriteJSON writes indented JSON with a newline at the end. It does not escape HTML.
func WriteJSON(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// writeYAML writes v with the keys of its JSON form, in the same order.
func writeYAML(b *bytes.Buffer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	var doc yaml.Node // JSON is YAML, and a node keeps the order of keys
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	plainStyle(&doc)
	enc := yaml.NewEncoder(b)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return fmt.Errorf("write YAML: %w", err)
	}
	return enc.Close()
}

// plainStyle removes the braces and quotes of JSON. The encoder adds quotes where they are
// necessary.
func plainStyle(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plainStyle(c)
	}
}
