package registrycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// getSignatures gets all signatures of an artifact into the cache, for save and install.
func (s *session) getSignatures(ctx context.Context, ref registry.Reference) error {
	if s.offline {
		return nil
	}
	for _, kind := range []string{registry.TypeSignature, typeBundle} {
		if _, err := s.client.Referrers(ctx, ref, kind); err != nil {
			return err
		}
	}
	_, err := s.client.CosignSignatures(ctx, ref)
	return err
}

// archived is one artifact of an archive.
type archived struct {
	Reference string `json:"reference"`
	// Type is that of an attachment, empty for a plugin.
	Type string `json:"type,omitempty"`
}

func archivedListing(list []archived) cli.Listing {
	l := cli.Listing{Header: []string{"REFERENCE", "TYPE"}, Data: list}
	for _, e := range list {
		l.Rows = append(l.Rows, []string{e.Reference, cli.Dash(e.Type)})
	}
	return l
}

func saveCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var file string
	cmd := &cobra.Command{
		Use:   "save [flags] [REFERENCE]...",
		Short: "Write plugins to one file, for machines without a network",
		Long: `Write the plugins that anchor.lock lists, or those that you name, with their
signatures into one tar. It is an OCI image layout, which other tools read too. What
the cache lacks is fetched. "plugin install --from" reads the file. With --file NAME.wasm
the module of the one plugin that you name is written instead. Neither the plugin folder
nor anchor.lock changes.`,
		Example: `  anchor-host plugin save --file plugins.tar
  anchor-host plugin save oci://ghcr.io/acme/bm25:1.2 --file bm25.wasm`,
	}
	o.Add(cmd)
	cmd.Flags().StringVar(&file, "file", "plugins.tar", "file for the tar, or for the module if it ends with .wasm")
	return command(a, cmd, &o, func(ctx context.Context, s *session, args []string) (l cli.Listing, err error) {
		module := filepath.Ext(file) == ".wasm"
		if module && len(args) != 1 {
			return l, cli.Usagef(cmd, "--file %s takes the module of one plugin (name its REFERENCE, or a file for a tar)", file)
		}
		refs, err := s.savedReferences(args)
		if err != nil {
			return l, err
		}
		var last *registry.Plugin
		for i, ref := range refs {
			if len(args) == 0 && s.client.Cache().Save(io.Discard, ref) == nil {
				continue
			}
			if last, err = s.client.Pull(ctx, ref); errors.Is(err, registry.ErrOffline) {
				continue // saving names all that the cache lacks
			} else if err != nil {
				return l, err
			}
			refs[i] = last.Reference
			if err := s.getSignatures(ctx, last.Reference); err != nil {
				a.Say("%s: without its signatures: %v", ref, err)
			}
		}
		s.bar.Finish()
		if module && last != nil {
			err = writeFile(file, last.Module)
		} else {
			err = save(s.client.Cache(), file, refs)
		}
		list := make([]archived, len(refs))
		for i, ref := range refs {
			list[i].Reference = ref.String()
		}
		return archivedListing(list), err
	})
}

// save writes artifacts of the cache to a file, all or nothing.
func save(cache *registry.Cache, file string, refs []registry.Reference) error {
	if err := replaceable(file); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	var saved error
	err := atomicfile.Replace(file, 0o644, func(w io.Writer) error {
		saved = cache.Save(w, refs...)
		return saved
	})
	var of *fs.PathError
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return lacking(cache, refs, err)
	case err != nil && saved == nil, errors.As(err, &of) && filepath.Dir(of.Path) == filepath.Dir(file): // another path is in the cache
		return fmt.Errorf("save: %w", unwritten(file, err))
	}
	return err
}

// lacking names all that the cache lacks, each with the command that gets it. first is the error of
// one of them.
func lacking(cache *registry.Cache, refs []registry.Reference, first error) error {
	var all []error
	for _, ref := range refs {
		if err := cache.Save(io.Discard, ref); errors.Is(err, registry.ErrNotFound) {
			all = append(all, fmt.Errorf("%w (with: anchor-host plugin save %s, without --offline)", err, ref))
		}
	}
	if len(all) == 0 { // another command has just pulled it
		return first
	}
	return errors.Join(all...)
}

// writeFile writes a file that the user named, all or nothing.
func writeFile(file string, data []byte) error {
	if err := replaceable(file); err != nil {
		return err
	}
	if err := atomicfile.Write(file, 0o644, data); err != nil {
		return unwritten(file, err)
	}
	return nil
}

// replaceable refuses what a new file must not take the place of: a folder, or a device.
func replaceable(file string) error {
	switch info, err := os.Stat(file); {
	case err != nil: // none is there, or writing says why
		return nil
	case info.IsDir():
		return fmt.Errorf("write %s: is a folder (name a file)", file)
	case !info.Mode().IsRegular():
		return fmt.Errorf("write %s: is not a regular file (name a file)", file)
	}
	return nil
}

// unwritten is the error of a file that could not be written. It names that file, and not the
// temporary one beside it.
func unwritten(file string, err error) error {
	var of *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &link):
		err = link.Err
	case errors.As(err, &of):
		err = of.Err
	}
	return fmt.Errorf("write %s: %w", file, err)
}

// savedReferences are the arguments, or what the lock lists.
func (s *session) savedReferences(args []string) (refs []registry.Reference, err error) {
	f, err := s.readLock()
	if err != nil {
		return nil, err
	}
	for _, arg := range args {
		ref, err := registry.ParseReference(arg)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	if len(args) > 0 {
		return refs, nil
	}
	for _, e := range f.Plugins {
		if e.Reference == "" {
			continue
		}
		ref, err := registry.ParseReference(e.Reference)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref.At(e.Manifest))
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("save: %s lists no plugin of a registry: %w (name references, or install plugins first)", lock.Name, os.ErrNotExist)
	}
	return refs, nil
}

// load reads a tar that save or another tool wrote into the cache: all of it, or nothing.
func (s *session) load(ctx context.Context, file string) error {
	f, name, err := s.app.Open(file)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer f.Close()
	entries, err := s.client.Cache().Load(ctx, f)
	if err != nil {
		return fmt.Errorf("load %s: %w", name, err)
	}
	for _, e := range entries {
		if e.ArtifactType == "" {
			s.app.Say("read %s", e.Reference)
		}
	}
	return nil
}

// pruned is what prune prints.
type pruned struct {
	Kept  int   `json:"kept"`
	Freed int64 `json:"freed_bytes"`
}

func pruneCommand(a *cli.App) *cobra.Command {
	o := openregistry.Flags{Offline: true}
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove from the cache what anchor.lock does not list",
		Long: `Remove from the cache of artifacts all but the plugins that anchor.lock lists, with
their signatures, and half downloads older than a day. All configurations of a user
share the cache: what another one needs is fetched again.`,
		Example: `  anchor-host plugin prune`,
		Args:    cobra.NoArgs,
	}
	o.AddCache(cmd)
	return command(a, cmd, &o, func(ctx context.Context, s *session, _ []string) (l cli.Listing, err error) {
		f, err := s.readLock()
		if err != nil {
			return l, err
		}
		var p pruned
		var keep []string
		for _, e := range f.Plugins {
			if e.Manifest != "" {
				keep = append(keep, e.Manifest)
			}
		}
		p.Kept = len(keep)
		p.Freed, err = s.client.Cache().Prune(ctx, keep...)
		return cli.Listing{Rows: [][]string{{"kept", fmt.Sprint(p.Kept)}, {"freed", fmt.Sprintf("%d bytes", p.Freed)}}, Data: p}, err
	})
}
