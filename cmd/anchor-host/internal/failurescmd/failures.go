// Package failurescmd implements "anchor-host plugin failures": the last failed calls of plugins that a
// running host keeps.
package failurescmd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/store"
)

// flags are the flags of the command.
type flags struct {
	url, key, save string
	id             int64
}

// Command returns "plugin failures".
func Command(a *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "failures [flags] [NAME]",
		Short: "Show the last failed calls of plugins of a running host",
		Long: `Show the last failed calls of the plugin NAME, or of all plugins, the newest first. A host
that runs "serve" keeps them in its store, for 30 days: 32 of each plugin, without the secrets
that a recording hides. A single "build" prints its failures to stderr and keeps none; build
--record keeps its calls.

With --id it shows the log and the stack of one. --save writes the case that repeats it,
or the newest, and prints the command for that. What a key may not see is left out: the
texts need the scope content, and the rest admin, too.`,
		Example: `  anchor-host plugin failures
  anchor-host plugin failures keep-best --id 7
  anchor-host plugin failures keep-best --save fails.json
  anchor-host plugin failures --url https://context.example.com --key '${env:ANCHOR_KEY}' -o json`,
		Args: cobra.MaximumNArgs(1),
	}
	cli.ConfigFlag(cmd)
	cmd.Flags().StringVar(&f.url, "url", "", "where the API of the host is (default: server.listen of the configuration)")
	cmd.Flags().StringVar(&f.key, "key", "", "key of the API: ${env:NAME} or ${file:NAME}")
	cmd.Flags().StringVar(&f.save, "save", "", "write the case that repeats the failure to this file")
	cmd.Flags().Int64Var(&f.id, "id", 0, "only the failure with this id, in full")
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		c, err := f.client(a, cmd)
		if err != nil {
			return l, err
		}
		name := ""
		if len(args) > 0 {
			name = args[0]
		}
		list, err := c.list(cmd.Context(), name)
		if err != nil {
			return l, err
		}
		if list.Missing != "" {
			a.Say("%s", plain.Line(list.Missing))
		}
		return f.listing(a, list.Failures, name)
	})
}

// listing prints what is asked for, and saves a case.
func (f *flags) listing(a *cli.App, list []failures.Failure, name string) (l cli.Listing, err error) {
	if f.id != 0 {
		list = slices.DeleteFunc(list, func(one failures.Failure) bool { return one.ID != f.id })
		if len(list) == 0 {
			return l, errkind.As(store.ErrNotFound, fmt.Errorf("plugin failures: no failure %d (the list without --id has those that are kept)", f.id))
		}
	}
	if f.save != "" {
		if err := f.saved(a, list); err != nil {
			return l, err
		}
	}
	l = cli.Listing{Header: []string{"ID", "PLUGIN", "COUNT", "LAST", "TENANT", "STEP", "OPERATION", "REASON", "TEXT"}, Data: failures.List{Failures: list}}
	for i := range list {
		one := &list[i]
		l.Rows = append(l.Rows, []string{strconv.FormatInt(one.ID, 10), one.Plugin, strconv.FormatInt(one.Count, 10), one.Last.Format(time.RFC3339), one.Tenant,
			cli.Dash(one.Step), one.Operation, one.Reason, cli.Dash(cli.Excerpt(cause(one)))})
	}
	switch {
	case f.id != 0:
		l.Text = whole(&list[0])
	case len(list) == 0:
		l.Text = "no failures" + of(name) + " are kept, as far as the key may see\n"
	}
	return l, nil
}

// cause is why a call failed, in a line: for a trap also what the plugin wrote last, which is the
// message of its panic.
func cause(f *failures.Failure) string {
	lines := strings.Split(strings.TrimSpace(f.Log), "\n")
	if last := lines[len(lines)-1]; f.Reason == string(abi.ReasonTrap) && last != "" {
		return strings.TrimPrefix(strings.TrimSpace(last), "error: ") + " (" + f.Text + ")"
	}
	return f.Text
}

func of(name string) string {
	if name == "" {
		return ""
	}
	return " of " + plain.Line(name)
}

// saved writes the case of the newest failure that has one.
func (f *flags) saved(a *cli.App, list []failures.Failure) error {
	i := slices.IndexFunc(list, func(one failures.Failure) bool { return one.Case != nil })
	switch {
	case len(list) == 0:
		return errkind.As(store.ErrNotFound, errors.New("flag --save: there is no failure"))
	case i < 0:
		return errkind.As(store.ErrNotFound, fmt.Errorf("flag --save: no failure can be repeated: %s", plain.Line(list[0].NoCase)))
	}
	if err := atomicfile.Write(f.save, 0o600, append(bytes.TrimSpace(list[i].Case), '\n')); err != nil {
		return fmt.Errorf("flag --save: %w", err)
	}
	a.Say("saved failure %d of %s; repeat it with: %s", list[i].ID, plain.Line(list[i].Plugin), command(&list[i], quoted(f.save)))
	return nil
}

// quoted is a path as a shell reads it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// command is the command that repeats a failure. What the host says stays an argument of it.
func command(f *failures.Failure, file string) string {
	parts := []string{"anchor-host plugin call MODULE"}
	for _, argument := range f.Repeat {
		parts = append(parts, quoted(plain.Line(argument)))
	}
	return strings.Join(append(parts, "--request", file), " ")
}

// whole is a failure with its log and its stack.
func whole(f *failures.Failure) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, plain.Line(value))
		}
	}
	line("plugin", f.Plugin)
	line("module", strings.TrimSpace(f.Module+" "+f.Digest))
	line("host", f.Host)
	line("tenant", f.Tenant)
	line("step", f.Step)
	line("operation", f.Operation)
	line("count", strconv.FormatInt(f.Count, 10))
	line("first", f.First.Format(time.RFC3339))
	line("last", f.Last.Format(time.RFC3339))
	line("reason", f.Reason)
	line("text", f.Text)
	line("remedy", f.Remedy)
	line("no case", f.NoCase)
	if f.Case != nil {
		line("repeat", "--save FILE, then "+command(f, "FILE"))
	}
	for _, block := range []struct{ name, text string }{{"log", f.Log}, {"stack", f.Stack}} {
		if block.text == "" {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", block.name)
		for text := range strings.Lines(block.text) {
			fmt.Fprintf(&b, "  %s\n", plain.Line(strings.TrimRight(text, "\n")))
		}
	}
	return b.String()
}
