package memorycmd

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// updateFlags are the flags of memory update.
type updateFlags struct {
	kind, expires  string
	tags, metadata []string
	relevance      float64
}

func update(a *cli.App) *cobra.Command {
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
	flags := cmd.Flags()
	flags.StringVar(&f.kind, "type", "", "type of the fact: semantic, episodic, procedural, conversation")
	flags.StringSliceVar(&f.tags, "tag", nil, "tags of the fact, instead of those it has; may be repeated")
	flags.StringVar(&f.expires, "expires", "", "when the fact expires: after a time span such as 720h, at a time such as 2030-01-02T15:04:05Z, or never")
	flags.Float64Var(&f.relevance, "relevance", 0, "how important the fact is, 0 to 1")
	metadataFlag(cmd, &f.metadata)
	return records.Command(a, records.Write, cmd, func(ctx context.Context, s *records.Session, args []string) (cli.Listing, error) {
		edit, err := f.edit(s, args)
		if err != nil {
			return cli.Listing{}, err
		}
		m, err := s.Facts(ctx, "")
		if err != nil {
			return cli.Listing{}, err
		}
		e, err := m.Edit(ctx, args[0], edit)
		return factListing([]memory.Entry{e}, e), err
	})
}

// edit returns the change that arguments and flags state.
func (f *updateFlags) edit(s *records.Session, args []string) (func(*memory.Entry), error) {
	changed := s.Cmd.Flags().Changed
	text, err := "", error(nil)
	if len(args) == 2 {
		if text, err = givenText(s, args[1]); err != nil {
			return nil, err
		}
	} else if !changed("type") && !changed("tag") && !changed("expires") && !changed("relevance") && !changed("metadata") {
		return nil, s.Usagef("nothing to change (give a text, or a flag such as --tag)")
	}
	if err := errors.Join(checkType(s, f.kind), checkShare(s, "relevance", f.relevance)); err != nil {
		return nil, err
	}
	expires := time.Time{}
	if f.expires != "never" {
		if expires, err = expiry(f.expires, time.Now()); err != nil {
			return nil, s.Usagef("flag --expires: %w, or never", err)
		}
	}
	more, err := metadata(s, f.metadata)
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
