package registrycmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/index"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// hit is one line of search.
type hit struct {
	index.Plugin
	// Index is where it is listed.
	Index string `json:"index"`
	// Installed is the version in anchor.lock, "" for none.
	Installed string `json:"installed,omitempty"`
}

func searchCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var q index.Query
	var more []string
	cmd := &cobra.Command{
		Use:   "search [flags] [WORD]...",
		Short: "Look for plugins in indexes",
		Long: `Look for plugins in the indexes that anchor.yaml names under "indexes", and those of
--index. An index is a JSON file on a web server or on this machine. Each word must be
in the name, the description, the reference or the operations. Without a word, all
plugins are listed.

An index only helps to find a plugin. What is installed, and who must have signed it,
is for "plugin install" to check. An index that cannot be read is an error; what the
others say is still listed.`,
		Example: `  anchor-host plugin search bm25
  anchor-host plugin search --index https://plugins.example/index.json --operation rerank
  anchor-host plugin search --offline -o json`,
	}
	o.Add(cmd)
	cmd.Flags().StringArrayVar(&more, "index", nil, "search this index too: an address that begins with https://, or a file")
	cmd.Flags().StringVar(&q.Operation, "operation", "", "only plugins with this operation, such as rerank")
	return command(a, cmd, &o, func(ctx context.Context, s *session, args []string) (l cli.Listing, err error) {
		places := more
		for _, place := range s.loaded.Registries.Indexes {
			if !strings.Contains(place, "://") {
				place = s.loaded.Path(place)
			}
			places = append(places, place)
		}
		if len(places) == 0 {
			return l, cli.Usagef(cmd, "there is no index to search (name one under indexes in anchor.yaml, or with --index)")
		}
		q.Text = strings.Join(args, " ")
		hits, err := s.search(ctx, places, q)
		if err != nil && len(hits) == 0 {
			return l, err // whether one matches is not known
		}
		return l, errors.Join(printHits(a, cli.Format(cmd), hits, len(places) > 1), err)
	})
}

// search looks into all indexes. The error joins those of the indexes that cannot be read.
func (s *session) search(ctx context.Context, places []string, q index.Query) (hits []hit, err error) {
	hits = []hit{}
	f, err := s.readLock()
	if err != nil {
		return hits, err
	}
	for _, place := range places {
		x, problem := s.readIndex(ctx, place)
		if problem != nil {
			err = errors.Join(err, fmt.Errorf("index: %w", problem))
			continue
		}
		for _, p := range x.Search(q) {
			hits = append(hits, hit{Plugin: p, Index: place, Installed: installed(f, p.Reference)})
		}
	}
	return hits, err
}

// readIndex reads an index from a file or a server.
func (s *session) readIndex(ctx context.Context, place string) (x *index.Index, err error) {
	if strings.Contains(place, "://") {
		_, err = s.client.Document(ctx, place, index.MaxSize, func(text []byte) (err error) {
			x, err = index.Read(text)
			return err
		})
		return x, err // names the address
	}
	text, err := cli.ReadFile(place, index.MaxSize)
	if err != nil {
		return nil, err
	}
	if x, err = index.Read(text); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return x, nil
}

// installed returns the version of a locked plugin from the same repository, "" for none.
func installed(f *lock.File, reference string) string {
	ref, err := registry.ParseReference(reference)
	if err != nil {
		return ""
	}
	for _, e := range f.Plugins {
		if of, err := registry.ParseReference(e.Reference); err == nil && of.Name() == ref.Name() {
			return e.Version
		}
	}
	return ""
}

func printHits(a *cli.App, format string, hits []hit, several bool) error {
	l := cli.Listing{Header: []string{"NAME", "VERSION", "INSTALLED", "REFERENCE", "DESCRIPTION"}, Data: hits}
	if several {
		l.Header = append(l.Header, "INDEX")
	}
	for _, h := range hits {
		about := h.Description
		if h.Deprecated != "" {
			about = "deprecated: " + h.Deprecated
		}
		row := []string{h.Name, h.Version, cli.Dash(h.Installed), h.Reference, cli.OneCell(about)}
		if several {
			row = append(row, h.Index)
		}
		l.Rows = append(l.Rows, row)
	}
	if err := a.Print(format, l); err != nil || format != "table" {
		return err
	}
	if len(hits) == 0 {
		a.Say("no plugin matches")
	} else {
		a.Say("install one with: anchor-host plugin install REFERENCE")
	}
	return nil
}

func indexCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var file string
	cmd := &cobra.Command{
		Use:   "index [flags] REFERENCE...",
		Short: "Write an index of plugins that registries have",
		Long: `Ask registries about plugins, and write an index that "plugin search" reads. For each
repository, its highest version is listed; a reference with a tag lists that one. No
module is fetched. The same answers give the same file, so that it can be kept in
version control and served from any web server.

Two plugins whose names look alike are refused, as one could be taken for the other.`,
		Example: `  anchor-host plugin index oci://ghcr.io/acme/bm25 oci://ghcr.io/acme/mmr --file index.json
  xargs anchor-host plugin index --file index.json < plugins.txt`,
		Args: cobra.MinimumNArgs(1),
	}
	cli.ConfigFlag(cmd)
	o.Add(cmd)
	cmd.Flags().StringVar(&file, "file", "", "file for the index (default: it is printed)")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		refs := make([]registry.Reference, len(args))
		for i, arg := range args {
			var err error
			if refs[i], err = registry.ParseReference(arg); err != nil {
				return err
			}
		}
		var x *index.Index
		err := o.Do(a, cmd, func(client *registry.Client, _ *openregistry.Bar) (err error) {
			x, err = index.Build(cmd.Context(), client, refs)
			return err
		})
		if err != nil {
			return fmt.Errorf("index: %w", err)
		}
		text, err := x.Write()
		if err != nil {
			return err
		}
		if file == "" {
			return a.EmitText(bytes.NewBuffer(text))
		}
		if err := writeFile(file, text); err != nil {
			return fmt.Errorf("index: %w", err)
		}
		a.Say("%s lists %s", file, cli.Count(len(x.Plugins), "plugin"))
		return nil
	})
	return cmd
}
