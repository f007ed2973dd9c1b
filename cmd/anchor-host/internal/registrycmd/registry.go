// Package registrycmd implements the commands under "anchor-host plugin" that move plugins between
// registries and the plugin folder, sign them, and keep anchor.lock.
//
// Start reading at install.go: session.install brings the plugin folder to what anchor.yaml and
// anchor.lock say. apply.go changes both, all of it or nothing.
package registrycmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// Commands returns the sub-commands of "plugin".
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		installCommand(a), updateCommand(a), approveCommand(a), removeCommand(a), verifyCommand(a),
		keygenCommand(a), signCommand(a), saveCommand(a), searchCommand(a), indexCommand(a), pruneCommand(a),
	}
}

// session is one run of a command: a configuration, its lock and its policy, and a client.
type session struct {
	app    *cli.App
	loaded *config.Loaded
	client *registry.Client
	// offline says that client opens no connection.
	offline bool
	// skipped says that a plugin was left alone, because another command has changed it.
	skipped bool
	// kept is a client of the cache alone.
	kept   *registry.Client
	bar    *openregistry.Bar
	policy *trust.Policy
	// lock is the path of anchor.lock, dir the plugin folder.
	lock, dir string
}

// command completes a command that works on the plugin folder, the lock or registries: it runs the
// work with a session.
func command(a *cli.App, cmd *cobra.Command, o *openregistry.Flags, work func(ctx context.Context, s *session, args []string) (cli.Listing, error)) *cobra.Command {
	cli.ConfigFlag(cmd)
	cli.PluginsFlag(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		s, err := open(a, cmd, o)
		if err != nil {
			return l, err
		}
		defer s.Close()
		return work(cmd.Context(), s, args)
	})
}

// open reads the configuration and makes a client. Close the session.
func open(a *cli.App, cmd *cobra.Command, o *openregistry.Flags) (*session, error) {
	loaded, err := a.Load(cmd)
	if err != nil {
		return nil, err
	}
	s := &session{app: a, loaded: loaded, offline: o.Offline, policy: loaded.Trust.Policy(), lock: loaded.Path(lock.Name), dir: loaded.PluginDir(), bar: openregistry.NewBar(a)}
	cached := openregistry.Flags{Cache: o.Cache, Offline: true, Timeout: o.Timeout}
	if s.kept, err = cached.Client(cmd, nil, config.Registries{}); err != nil {
		return nil, err
	}
	if s.client, err = o.Client(cmd, s.bar, loaded.Registries); err != nil {
		s.kept.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the session.
func (s *session) Close() {
	s.bar.Finish()
	s.client.Close()
	s.kept.Close()
}

// readLock reads anchor.lock; without a file it is empty.
func (s *session) readLock() (*lock.File, error) { return (&lock.Guard{Path: s.lock}).File() }

// folder reads the named plugins of the plugin folder, which may be missing.
func (s *session) folder(names ...string) (map[string][]spec.Entry, error) {
	there := map[string][]spec.Entry{}
	entries, _, err := spec.Reader{CacheDir: s.loaded.CachePath()}.ReadNamed(s.dir, names...)
	if errors.Is(err, fs.ErrNotExist) {
		return there, nil
	}
	for _, e := range entries {
		there[e.Name] = append(there[e.Name], e)
	}
	return there, err
}

// typeBundle is the type of cosign's signatures in their new form.
const typeBundle = "application/vnd.dev.sigstore.bundle.v0.3+json"

// signed returns who signed a locked artifact, and fails if the policy wants a signature and no
// publisher's key made one. Whoever writes anchor.lock can name a signer in it, so the signature is
// looked for: in the cache, where the first install put it, and then in the registry.
func (s *session) signed(ctx context.Context, ref registry.Reference, is *spec.Spec) (trust.Signer, error) {
	if s.policy.Require != trust.RequireSigned {
		return trust.Signer{}, nil
	}
	signer, err := s.signerOf(ctx, s.kept, ref, is)
	switch {
	case err == nil:
		return signer, nil
	case !s.offline:
		return s.signer(ctx, ref, is)
	case errors.Is(err, trust.ErrUnsigned):
		return signer, fmt.Errorf("%s: the cache has no signature of it: %w (install without --offline, or with --from an archive that plugin save has made)", ref, trust.ErrUnsigned)
	}
	return signer, err
}

// signer returns who signed an artifact, and checks it against the policy. ref has a digest.
func (s *session) signer(ctx context.Context, ref registry.Reference, is *spec.Spec) (trust.Signer, error) {
	return s.signerOf(ctx, s.client, ref, is)
}

func (s *session) signerOf(ctx context.Context, client *registry.Client, ref registry.Reference, is *spec.Spec) (trust.Signer, error) {
	var found trust.Signatures
	if pattern, keys := s.policy.Publisher(ref.String()); pattern != "" && len(keys) > 0 {
		for _, kind := range []string{registry.TypeSignature, typeBundle} {
			list, err := client.Referrers(ctx, ref, kind)
			if err != nil {
				return trust.Signer{}, err
			}
			for _, a := range list {
				found.Envelopes = append(found.Envelopes, a.Data)
			}
		}
		if slices.ContainsFunc(keys, trust.PublicKey.PEM) {
			list, err := client.CosignSignatures(ctx, ref)
			if err != nil {
				return trust.Signer{}, err
			}
			for _, c := range list {
				found.Simple = append(found.Simple, trust.SimpleSignature(c))
			}
		}
	}
	signer, err := s.policy.Verify(ref.String(), ref.Digest, found)
	if err != nil {
		return trust.Signer{}, err
	}
	plugin, err := lock.Statement(is)
	if err != nil {
		return trust.Signer{}, err
	}
	if err := signer.Check(plugin); err != nil {
		return trust.Signer{}, fmt.Errorf("%s: %w", ref, err)
	}
	return signer, s.locked(ref.String(), signer.Key, is.Digest, ref.Digest)
}

// locked checks an entry against the policy. A plugin that a registry has is in the lock in the
// end, so that trust.require: digest holds.
func (s *session) locked(reference, signer string, digests ...string) error {
	return s.policy.CheckLocked(reference, signer, digests...)
}
