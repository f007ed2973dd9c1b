package registrycmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// signatureSuffix ends the name of the signature beside a file.
const signatureSuffix = ".minisig"

// The largest files that are read.
const (
	maxText   = 64 << 10
	maxModule = registry.DefaultMaxModule
)

// madeKey is what keygen prints.
type madeKey struct {
	ID     string `json:"id"`
	Secret string `json:"secret_file"`
	Public string `json:"public_file"`
	// Encrypted is whether the secret key has a password.
	Encrypted bool `json:"encrypted"`
	// Key is the line for trust.publishers.
	Key string `json:"key"`
}

func keygenCommand(a *cli.App) *cobra.Command {
	var path string
	var password cli.PasswordFlag
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a pair of keys to sign plugins with",
		Long: `Make a pair of keys, in the form of the program minisign. The secret key goes to one
file, which only you can read, the public one to a file of the same name and .pub.
Give the public key to those who run your plugins, for trust.publishers of their
anchor.yaml. If you give no password, you are asked for one on the terminal. An empty
answer makes a secret key that is not encrypted, and so does an empty variable.`,
		Example: `  anchor-host plugin keygen --key acme.key
  anchor-host plugin keygen --key acme.key --password-file password.txt`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&path, "key", "anchor.key", "file for the secret key")
	password.Flag(cmd)
	return a.Command(cmd, func(*cobra.Command, []string) (l cli.Listing, err error) {
		public := strings.TrimSuffix(path, ".key") + ".pub"
		for _, file := range []string{path, public} { // the user need not type a password for nothing
			if err := canBeMade(file); err != nil {
				return l, fmt.Errorf("key: write: %w", err)
			}
		}
		secret, err := password.ReadNew(a)
		if err != nil {
			return l, err
		}
		key, err := trust.Generate()
		if err != nil {
			return l, err
		}
		m := madeKey{ID: key.Public().ID, Secret: path, Public: public, Encrypted: secret != "", Key: key.Public().String()}
		encrypted := "no, it has no password"
		if m.Encrypted {
			encrypted = "yes"
		}
		if err := trust.WriteKeys(key, secret, m.Secret, m.Public); err != nil {
			return l, err
		}
		return cli.Listing{Rows: [][]string{{"id", m.ID}, {"secret", m.Secret}, {"encrypted", encrypted}, {"public", m.Public}, {"key", m.Key}}, Data: m}, nil
	})
}

// canBeMade says why a new file cannot have this name.
func canBeMade(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w (give another name, or remove the file)", path, fs.ErrExist)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w (make the folder first)", err)
	}
	return nil
}

// signed is what sign and verify print.
type signed struct {
	Target string `json:"target"`
	Status string `json:"status"`
	Key    string `json:"key,omitempty"`
	Form   string `json:"form,omitempty"`
	Digest string `json:"digest,omitempty"`
}

func signedListing(list []signed) cli.Listing {
	l := cli.Listing{Header: []string{"PLUGIN", "STATUS", "KEY", "DIGEST"}, Data: list}
	for _, s := range list {
		l.Rows = append(l.Rows, []string{s.Target, s.Status, cli.Dash(s.Key), cli.Dash(s.Digest)})
	}
	return l
}

func signCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var k cli.KeyFlags
	cmd := &cobra.Command{
		Use:   "sign --key FILE (REFERENCE | MODULE)",
		Short: "Sign a plugin in a registry, or a module file",
		Long: `Sign a plugin. For a reference, which begins with oci://, a statement about its
digest, name, version and permissions is signed and attached to it in the registry.
For a file, the signature of the program minisign is written beside it.`,
		Example: `  anchor-host plugin sign --key acme.key oci://ghcr.io/acme/bm25:1.2.0
  anchor-host plugin sign --key acme.key dist/bm25.wasm`,
		Args: cli.Exactly("REFERENCE or MODULE"),
	}
	k.Flags(cmd, "file of the secret key")
	_ = cmd.MarkFlagRequired("key") // fails only for an unknown flag
	cli.ConfigFlag(cmd)
	o.AddOnline(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, args []string) (l cli.Listing, err error) {
		sealed, err := k.Open()
		if err != nil {
			return l, err
		}
		if !strings.HasPrefix(args[0], registry.Scheme) {
			s, err := signFile(a, sealed, args[0])
			return signedListing([]signed{s}), err
		}
		ref, err := registry.ParseReference(args[0])
		if err != nil {
			return l, err
		}
		var s signed
		err = o.Do(a, cmd, func(client *registry.Client, b *openregistry.Bar) error {
			p, err := client.Pull(cmd.Context(), ref)
			if err != nil {
				return err
			}
			b.Finish()
			key, err := sealed.Unlock(a)
			if err != nil {
				return err
			}
			s, err = signPulled(cmd.Context(), client, key, p)
			s.Target = ref.String()
			return err
		})
		return signedListing([]signed{s}), err
	})
}

// signFile writes the signature beside a file.
func signFile(a *cli.App, sealed *cli.SealedKey, path string) (signed, error) {
	data, err := cli.ReadFile(path, maxModule)
	if err != nil {
		return signed{}, fmt.Errorf("sign: %w (name a module, or a reference that begins with %s)", err, registry.Scheme)
	}
	if _, err := spec.Read("", data, nil); err != nil {
		return signed{}, fmt.Errorf("sign %s: %w", path, err)
	}
	key, err := sealed.Unlock(a)
	if err != nil {
		return signed{}, err
	}
	text, err := key.SignFile(data, filepath.Base(path), time.Now())
	if err != nil {
		return signed{}, err
	}
	if err := atomicfile.Write(path+signatureSuffix, 0o644, text); err != nil {
		return signed{}, fmt.Errorf("sign %s: write: %w", path, err)
	}
	return signed{Target: path, Status: "signed", Key: key.Public().ID, Form: trust.FormMinisign}, nil
}

// signPulled attaches a signature to a plugin that was pulled.
func signPulled(ctx context.Context, client *registry.Client, key *trust.SecretKey, p *registry.Plugin) (signed, error) {
	is, err := spec.Read("", p.Module, nil)
	if err != nil {
		return signed{}, fmt.Errorf("%s: %w", p.Reference, err)
	}
	plugin, err := lock.Statement(is)
	if err != nil {
		return signed{}, err
	}
	envelope, err := key.SignStatement(p.Reference.Name(), p.Reference.Digest, plugin)
	if err != nil {
		return signed{}, err
	}
	if _, err := client.Attach(ctx, p.Reference, registry.Attachment{Type: registry.TypeSignature, Data: envelope}); err != nil {
		return signed{}, err
	}
	return signed{Status: "signed", Key: key.Public().ID, Form: trust.FormDSSE, Digest: p.Reference.Digest}, nil
}

func verifyCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var keys []string
	cmd := &cobra.Command{
		Use:   "verify [flags] [REFERENCE | MODULE]...",
		Short: "Check digests and signatures of plugins",
		Long: `Check plugins, and run nothing. Without arguments, all plugins of the folder are held
against anchor.lock and trust of anchor.yaml. With trust.require: signed, their
signatures are looked for in the cache, then in the registry. A reference, which begins
with oci://, is pulled, and one of its publisher's keys must have signed it. A module
file needs its signature beside it, such as bm25.wasm.minisig, by a key of --public-key
or of any publisher in anchor.yaml.`,
		Example: `  anchor-host plugin verify
  anchor-host plugin verify oci://ghcr.io/acme/bm25:1.2.0
  anchor-host plugin verify --public-key acme.pub dist/bm25.wasm`,
	}
	o.Add(cmd)
	cmd.Flags().StringArrayVar(&keys, "public-key", nil, "file of a public key that may have signed a module file")
	return command(a, cmd, &o, func(ctx context.Context, s *session, args []string) (l cli.Listing, err error) {
		list := []signed{}
		if len(args) == 0 {
			list, err = s.verifyFolder(ctx)
		}
		for _, arg := range args {
			one, problem := s.verifyOne(ctx, arg, keys)
			err = errors.Join(err, problem)
			list = append(list, one)
		}
		s.bar.Finish()
		return l, errors.Join(a.Print(cli.Format(cmd), signedListing(list)), err)
	})
}

// verifyFolder holds the plugin folder against lock and policy.
func (s *session) verifyFolder(ctx context.Context) (list []signed, err error) {
	f, err := s.readLock()
	if err != nil {
		return nil, err
	}
	entries, err := spec.Reader{}.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	drifts := f.Check(entries, s.policy)
	err = nil
	for _, e := range entries {
		drift := slices.IndexFunc(drifts, func(d *lock.Drift) bool { return d.Plugin == e.Name })
		one, problem := s.verifyEntry(ctx, f.Find(e.Name), &e, drift < 0)
		if drift >= 0 {
			one.Status = string(drifts[drift].Kind)
		}
		list, err = append(list, one), errors.Join(err, problem)
	}
	for _, d := range drifts {
		if d.Kind == lock.Missing {
			list = append(list, signed{Target: d.Plugin, Status: string(d.Kind)})
		}
		if !d.Allowed {
			err = errors.Join(err, d)
		}
	}
	return list, err
}

// verifyEntry checks one plugin of the folder, and its signature if it is what the lock says. locked is nil
// for one that the lock does not list.
func (s *session) verifyEntry(ctx context.Context, locked *lock.Entry, e *spec.Entry, asLocked bool) (signed, error) {
	one := signed{Target: e.Name, Status: "ok"}
	if locked != nil {
		one.Key = locked.Signer
	}
	switch {
	case e.Err != nil && locked != nil:
		one.Status = string(lock.Changed)
		return one, fmt.Errorf("%w; get the locked one with: anchor-host plugin install", e.Err)
	case e.Err != nil:
		one.Status = cli.OneCell(e.Err.Error())
		return one, e.Err
	}
	one.Digest = e.Spec.Digest
	if !asLocked {
		return one, nil
	}
	signer, err := s.verifyLocked(ctx, locked, e)
	one.Key = cmp.Or(signer.Key, one.Key)
	switch {
	case errors.Is(err, registry.ErrUnreachable):
		one.Status = "unchecked"
	case err != nil:
		one.Status = string(lock.Refused)
	}
	return one, err
}

// verifyLocked looks for the signature of a plugin of the folder that came from a registry. It reads
// the module alone: a plugin.yaml beside it may narrow what the author signed.
func (s *session) verifyLocked(ctx context.Context, locked *lock.Entry, e *spec.Entry) (signer trust.Signer, err error) {
	if locked == nil || locked.Reference == "" || s.policy.Require != trust.RequireSigned {
		return signer, nil
	}
	ref, err := registry.ParseReference(locked.Reference)
	if err != nil {
		return signer, err
	}
	module, err := cli.ReadFile(e.Path, maxModule)
	if err != nil {
		return signer, err
	}
	is, err := spec.Read("", module, nil)
	if err == nil {
		signer, err = s.signed(ctx, ref.At(locked.Manifest), is)
	}
	if err != nil {
		return signer, fmt.Errorf("plugin %q: %w", locked.Name, err)
	}
	return signer, nil
}

// verifyOne checks a reference or a file.
func (s *session) verifyOne(ctx context.Context, target string, keyFiles []string) (signed, error) {
	one := signed{Target: target, Status: "refused"}
	if !strings.HasPrefix(target, registry.Scheme) {
		signer, err := s.verifyFile(target, keyFiles)
		if err != nil {
			return one, fmt.Errorf("%s: %w", target, err)
		}
		return signed{Target: target, Status: "ok", Key: signer.Key, Form: signer.Form}, nil
	}
	ref, err := registry.ParseReference(target)
	if err != nil {
		return one, err
	}
	p, err := s.client.Pull(ctx, ref)
	if err != nil {
		return one, err
	}
	one.Digest = p.Reference.Digest
	is, err := spec.Read("", p.Module, nil)
	if err != nil {
		return one, fmt.Errorf("%s: %w", p.Reference, err)
	}
	signer, err := s.signer(ctx, p.Reference, is)
	if err == nil && signer.Key == "" {
		err = fmt.Errorf("%s: %w by a key of trust.publishers (add the publisher's key to anchor.yaml, or ask for a signed version)", ref, trust.ErrUnsigned)
	}
	if err != nil {
		return one, err
	}
	one.Status, one.Key, one.Form = "ok", signer.Key, signer.Form
	return one, nil
}

// verifyFile checks the signature beside a file.
func (s *session) verifyFile(path string, keyFiles []string) (trust.Signer, error) {
	data, err := cli.ReadFile(path, maxModule)
	if err != nil {
		return trust.Signer{}, err
	}
	signature, err := cli.ReadFile(path+signatureSuffix, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		return trust.Signer{}, fmt.Errorf("there is no %s: %w (ask its author for it)", path+signatureSuffix, trust.ErrUnsigned)
	}
	if err != nil {
		return trust.Signer{}, err
	}
	var keys []trust.PublicKey
	for _, file := range keyFiles {
		text, err := cli.ReadFile(file, maxText)
		if err != nil {
			return trust.Signer{}, fmt.Errorf("flag --public-key: %w", err)
		}
		key, err := trust.ParsePublicKey(string(bytes.TrimSpace(text)))
		if err != nil {
			return trust.Signer{}, fmt.Errorf("flag --public-key: %s: %w", file, err)
		}
		keys = append(keys, key)
	}
	for _, publisher := range s.policy.Publishers {
		keys = append(keys, publisher...)
	}
	keys = slices.DeleteFunc(keys, func(k trust.PublicKey) bool { return slices.Contains(s.policy.RevokedKeys, k.ID) })
	return trust.VerifyFile(keys, data, signature)
}
