package main

import (
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// updateFlags are the flags of memory update.
type updateFlags struct {
	kind, expires  string
	tags, metadata []string
	relevance      float64
}

func (a *app) memoryUpdateCommand() *cobra.Command {
	var f updateFlags
	cmd := &cobra.Command{
		Use:   "update [flags] ID [TEXT]",
		Short: "Change a fact",
		Long: `Change a fact as the arguments and flags state, and print it. The text is the
second argument, or with "-" what comes on stdin. --tag replaces all tags.
--metadata is merged into the existing metadata; KEY=null sets a value to null.`,
		Example: `  anchor-host memory update 0199a7c2-7d1e-4b52-9f5e-2b0c3f6a1d11 "Ann is in Bergen"
  anchor-host memory update f1 --tag travel --relevance 0.9 --expires 720h`,
		Args: cobra.RangeArgs(1, 2),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "type", "", "type of the fact: semantic, episodic, procedural, conversation")
	flags.StringSliceVar(&f.tags, "tag", nil, "tags of the fact, instead of those it has; may be repeated")
	flags.StringVar(&f.expires, "expires", "", "when the fact expires: after a time span such as 720h, at a time such as 2030-01-02T15:04:05Z, or never")
	flags.Float64Var(&f.relevance, "relevance", 0, "how important the fact is, 0 to 1")
	metadataFlag(cmd, &f.metadata)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.withStore(func(cmd *cobra.Command, args []string, s *session) error {
		edit, err := a.edit(cmd, &f, args)
		if err != nil {
			return err
		}
		m, err := s.front.Facts(cmd.Context(), "")
		if err != nil {
			return err
		}
		e, err := m.Edit(cmd.Context(), args[0], edit)
		if err != nil {
			return err
		}
		return a.Print(*format, factListing([]memory.Entry{e}, e))
	})
	return cmd
}

// edit returns the change that arguments and flags state.
func (a *app) edit(cmd *cobra.Command, f *updateFlags, args []string) (func(*memory.Entry), error) {
	changed := cmd.Flags().Changed
	text, err := "", error(nil)
	if len(args) == 2 {
		if text, err = a.text(args[1], "text"); err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			return nil, cli.Usagef(cmd, "the text is empty")
		}
	} else if !changed("type") && !changed("tag") && !changed("expires") && !changed("relevance") && !changed("metadata") {
		return nil, cli.Usagef(cmd, "nothing to change (give a text, or a flag such as --tag)")
	}
	if changed("type") && !memory.Type(f.kind).Valid() {
		return nil, cli.Usagef(cmd, "flag --type: want one of semantic, episodic, procedural, conversation, got %q", f.kind)
	}
	if changed("relevance") && !(f.relevance >= 0 && f.relevance <= 1) {
		return nil, cli.Usagef(cmd, "flag --relevance: want 0 to 1, got %v", f.relevance)
	}
	expires := time.Time{}
	if f.expires != "never" {
		if expires, err = expiry(f.expires, time.Now()); err != nil {
			return nil, cli.Usagef(cmd, "flag --expires: %w, or never", err)
		}
	}
	more, err := metadata(cmd, f.metadata)
	if err != nil {
		return nil, err
	}
	return func(e *memory.Entry) {
		if text != "" {
			e.Content = text
		}
		if changed("type") {
			e.Type = memory.Type(f.kind)
		}
		if changed("tag") {
			e.Tags = f.tags
		}
		if changed("expires") {
			e.ExpiresAt = expires
		}
		if changed("relevance") {
			e.Relevance = f.relevance
		}
		if e.Metadata == nil {
			e.Metadata = more
		} else {
			maps.Copy(e.Metadata, more)
		}
	}, nil
}
