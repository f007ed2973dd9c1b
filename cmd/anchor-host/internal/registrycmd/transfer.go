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
	"github.com/anchor-host/anchor-host/registry/trust"
)

// moved is what push and pull print.
type moved struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	Module    string `json:"module,omitempty"`
	File      string `json:"file,omitempty"`
	Signer    string `json:"signer,omitempty"`
	// Attached are the types of what was attached.
	Attached []string `json:"attached,omitempty"`
}

func (m moved) print(a *cli.App, format string) error {
	rows := [][]string{{"reference", m.Reference}, {"digest", m.Digest}}
	for _, row := range [][]string{{"file", m.File}, {"key", m.Signer}} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	for _, kind := range m.Attached {
		rows = append(rows, []string{"attached", kind})
	}
	return a.Print(format, cli.Listing{Rows: rows, Data: m})
}

// extra is a document that push attaches.
type extra struct{ flag, kind, usage, path string }

func extras() []*extra {
	return []*extra{
		{flag: "readme", kind: registry.TypeReadme, usage: "attach this file of Markdown"},
		{flag: "sbom", kind: registry.TypeSBOM, usage: "attach this list of what the module is made of (SPDX in JSON)"},
		{flag: "conformance", kind: registry.TypeConformance, usage: "attach this report of the conformance kit (JSON)"},
	}
}

func pushCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var k cli.KeyFlags
	var source, revision string
	var move bool
	documents := extras()
	cmd := &cobra.Command{
		Use:   "push [flags] PLUGIN REFERENCE",
		Short: "Push a plugin to a registry, and sign it",
		Long: `Push a plugin to a registry. PLUGIN is a module with its manifest inside, as "plugin
build" writes it, or a folder with one module, in which plugin.yaml is packed.
Credentials are those of docker login. Without a tag in REFERENCE, the tag is the
version of the manifest. The same file gives the same digest on every machine. A tag
that another artifact has is refused without --move.

--key signs what was pushed. README, SBOM and report are attached.`,
		Example: `  anchor-host plugin push dist/bm25.wasm oci://ghcr.io/acme/bm25 --key acme.key
  anchor-host plugin push dist/bm25.wasm oci://ghcr.io/acme/bm25:1.2.0 --readme README.md`,
		Args: cli.Exactly("PLUGIN", "REFERENCE"),
	}
	k.Flags(cmd, "file of the secret key that signs")
	cli.ConfigFlag(cmd)
	o.AddOnline(cmd)
	f := cmd.Flags()
	for _, d := range documents {
		f.StringVar(&d.path, d.flag, "", d.usage)
	}
	f.StringVar(&source, "source", "", "address of the source code")
	f.StringVar(&revision, "revision", "", "revision of the source code")
	f.BoolVar(&move, "move", false, "let a tag that names another artifact name this one")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		module, err := readPlugin(args[0])
		if err != nil {
			return err
		}
		ref, err := registry.ParseReference(args[1])
		if err != nil {
			return err
		}
		artifact, err := registry.Pack(module, registry.PackOptions{Source: source, Revision: revision})
		if err != nil {
			return fmt.Errorf("push %s: %w", args[0], err)
		}
		if ref.Tag == "" {
			ref.Tag = artifact.Version
		}
		attached, err := readExtras(documents)
		if err != nil {
			return err
		}
		var sealed *cli.SealedKey
		if k.Path != "" {
			if sealed, err = k.Open(); err != nil {
				return err
			}
		}
		var m moved
		err = o.Do(a, cmd, func(client *registry.Client, _ *openregistry.Bar) (err error) {
			var key *trust.SecretKey
			if sealed != nil {
				if key, err = sealed.Unlock(a); err != nil {
					return err
				}
			}
			m, err = push(cmd.Context(), client, ref, artifact, key, attached, move)
			return err
		})
		if err != nil {
			return err
		}
		return m.print(a, *format)
	})
	return cmd
}

// push sends an artifact, then what is attached to it.
func push(ctx context.Context, client *registry.Client, ref registry.Reference, artifact *registry.Artifact, key *trust.SecretKey, attached []registry.Attachment, move bool) (moved, error) {
	pushed, err := client.Push(ctx, ref, artifact, registry.PushOptions{Move: move})
	if err != nil {
		return moved{}, err
	}
	m := moved{Reference: ref.String(), Digest: pushed.Digest, Module: artifact.ModuleDigest}
	for _, each := range attached {
		if _, err := client.Attach(ctx, pushed, each); err != nil {
			return moved{}, err
		}
		m.Attached = append(m.Attached, each.Type)
	}
	if key != nil {
		p, err := client.Pull(ctx, pushed)
		if err != nil {
			return moved{}, err
		}
		s, err := signPulled(ctx, client, key, p)
		if err != nil {
			return moved{}, err
		}
		m.Signer, m.Attached = s.Key, append(m.Attached, registry.TypeSignature)
	}
	return m, nil
}

// readExtras reads the documents whose flags are given.
func readExtras(documents []*extra) (list []registry.Attachment, err error) {
	for _, d := range documents {
		if d.path == "" {
			continue
		}
		data, err := cli.ReadFile(d.path, maxExtra)
		if err != nil {
			return nil, fmt.Errorf("flag --%s: %w", d.flag, err)
		}
		list = append(list, registry.Attachment{Type: d.kind, Title: filepath.Base(d.path), Data: data})
	}
	return list, nil
}

func pullCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var file string
	cmd := &cobra.Command{
		Use:   "pull [flags] REFERENCE",
		Short: "Get a plugin from a registry into the cache, or a file",
		Long: `Get a plugin with its signatures into the cache, and write its module to a file if you
name one. Neither the plugin folder nor anchor.lock changes: that is what "plugin
install" does.`,
		Example: `  anchor-host plugin pull oci://ghcr.io/acme/bm25:1.2
  anchor-host plugin pull oci://ghcr.io/acme/bm25:1.2 --file bm25.wasm`,
		Args: cli.Exactly("REFERENCE"),
	}
	cli.ConfigFlag(cmd)
	o.Add(cmd)
	cmd.Flags().StringVar(&file, "file", "", "file for the module")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		ref, err := registry.ParseReference(args[0])
		if err != nil {
			return err
		}
		var p *registry.Plugin
		err = o.Do(a, cmd, func(client *registry.Client, _ *openregistry.Bar) (err error) {
			if p, err = client.Pull(cmd.Context(), ref); err != nil || o.Offline {
				return err
			}
			if err := getSignatures(cmd.Context(), client, p.Reference); err != nil {
				a.Say("%s: pulled without its signatures: %v", ref, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if file != "" {
			if err := writeFile(file, p.Module); err != nil {
				return fmt.Errorf("pull: %w", err)
			}
		}
		return moved{Reference: ref.String(), Digest: p.Reference.Digest, Module: p.ModuleDigest, File: file}.print(a, *format)
	})
	return cmd
}

// getSignatures gets all signatures of an artifact into the cache, for save and install.
func getSignatures(ctx context.Context, client *registry.Client, ref registry.Reference) error {
	for _, kind := range []string{registry.TypeSignature, typeBundle} {
		if _, err := client.Referrers(ctx, ref, kind); err != nil {
			return err
		}
	}
	_, err := client.CosignSignatures(ctx, ref)
	return err
}

// archived is one artifact of an archive.
type archived struct {
	Reference string `json:"reference"`
	// Type is that of an attachment, empty for a plugin.
	Type string `json:"type,omitempty"`
}

func printArchived(a *cli.App, format string, list []archived) error {
	l := cli.Listing{Header: []string{"REFERENCE", "TYPE"}, Data: list}
	for _, e := range list {
		l.Rows = append(l.Rows, []string{e.Reference, cli.Dash(e.Type)})
	}
	return a.Print(format, l)
}

func saveCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var file string
	cmd := &cobra.Command{
		Use:   "save [flags] [REFERENCE]...",
		Short: "Write plugins of the cache to one file, for machines without a network",
		Long: `Write the plugins that anchor.lock lists, or those that you name, with their
signatures into one tar. It is an OCI image layout, which other tools read too.
What the cache lacks is not fetched, even if the plugin folder has it: the error says
how to pull it.`,
		Example: `  anchor-host plugin save --file plugins.tar`,
	}
	cli.HostFlags(cmd)
	o.Add(cmd)
	cmd.Flags().StringVar(&file, "file", "plugins.tar", "file for the tar")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		o.Offline = true
		s, err := open(a, cmd, &o)
		if err != nil {
			return err
		}
		defer s.Close()
		refs, err := s.savedReferences(args)
		if err != nil {
			return err
		}
		if err := save(s.client.Cache(), file, refs); err != nil {
			return err
		}
		list := make([]archived, len(refs))
		for i, ref := range refs {
			list[i].Reference = ref.String()
		}
		return printArchived(a, *format, list)
	})
	return cmd
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
			all = append(all, fmt.Errorf("%w (with: anchor-host plugin pull %s)", err, ref))
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

func loadCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	cmd := &cobra.Command{
		Use:   "load [flags] FILE",
		Short: "Read plugins from a file that save wrote into the cache",
		Long: `Read a tar that "plugin save" or another tool wrote into the cache. All of it is
checked, and it is read whole or not at all. "plugin install --offline" then works.`,
		Example: `  anchor-host plugin load plugins.tar
  anchor-host plugin install --frozen --offline`,
		Args: cli.Exactly("FILE"),
	}
	o.AddCache(cmd)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		cache, err := registry.OpenCache(o.Cache)
		if err != nil {
			return err
		}
		f, name, err := a.Open(args[0])
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}
		defer f.Close()
		entries, err := cache.Load(cmd.Context(), f)
		if err != nil {
			return fmt.Errorf("load %s: %w", name, err)
		}
		list := make([]archived, len(entries))
		for i, e := range entries {
			list[i] = archived{e.Reference.String(), e.ArtifactType}
		}
		return printArchived(a, *format, list)
	})
	return cmd
}

// pruned is what prune prints.
type pruned struct {
	Kept  int   `json:"kept"`
	Freed int64 `json:"freed_bytes"`
}

func pruneCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove from the cache what anchor.lock does not list",
		Long: `Remove from the cache of artifacts all but the plugins that anchor.lock lists, with
their signatures, and half downloads older than a day. All configurations of a user
share the cache: what another one needs is fetched again.`,
		Example: `  anchor-host plugin prune`,
		Args:    cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	o.AddCache(cmd)
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		o.Offline = true
		s, err := open(a, cmd, &o)
		if err != nil {
			return err
		}
		defer s.Close()
		f, err := s.readLock()
		if err != nil {
			return err
		}
		var p pruned
		var keep []string
		for _, e := range f.Plugins {
			if e.Manifest != "" {
				keep = append(keep, e.Manifest)
			}
		}
		p.Kept = len(keep)
		if p.Freed, err = s.client.Cache().Prune(cmd.Context(), keep...); err != nil {
			return err
		}
		return a.Print(*format, cli.Listing{Rows: [][]string{{"kept", fmt.Sprint(p.Kept)}, {"freed", fmt.Sprintf("%d bytes", p.Freed)}}, Data: p})
	})
	return cmd
}
