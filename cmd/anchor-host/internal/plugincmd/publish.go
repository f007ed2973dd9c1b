package plugincmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// publishFlags are the flags of "plugin publish".
type publishFlags struct {
	testFlags
	dryRun, unsigned bool
	// unchecked leaves out what takes time or asks the registry, move moves a tag.
	unchecked, move bool
	project         string
	registry        openregistry.Flags
	key             cli.KeyFlags
	// source and revision are as in registry.PackOptions. sbom is the name of a file.
	source, revision, sbom string
}

func publishCommand(a *cli.App) *cobra.Command {
	f := publishFlags{testFlags: testFlags{callFlags: callFlags{repeat: 1}}}
	cmd := &cobra.Command{
		Use:   "publish [flags] FILE|FOLDER [oci://REFERENCE]",
		Short: "Check a plugin, sign it and push it to a registry",
		Long: `Check a plugin, sign it and push it. If a check fails, nothing is pushed, all findings
are listed, and the exit code is 1. The checks are: key, manifest, size, readme,
conformance (plugin test --short with your cases), reproducible (a second build gives the
same module), tag (it is the version of the manifest, and free) and version (raised
enough since the one before; docs/distribute.md). --dry-run only checks, --unchecked
leaves out readme, conformance, reproducible and version, --move moves a tag.

The signature, the report of plugin test and the file of --sbom are attached, where
everybody who may pull the plugin reads them. The credentials are those of Docker.`,
		Example: `  anchor-host plugin publish --dry-run build/keep-best.wasm
  anchor-host plugin publish --dry-run build/keep-best.wasm oci://ghcr.io/acme/keep-best
  anchor-host plugin publish build/keep-best.wasm oci://ghcr.io/acme/keep-best --key anchor.key`,
		Args: cobra.RangeArgs(1, 2),
	}
	cli.ConfigFlag(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "only check what would be refused")
	f.key.Flags(cmd, "file of the secret key that signs")
	flags.StringVar(&f.source, "source", "", "address of the source code")
	flags.StringVar(&f.revision, "revision", "", "revision of the source code")
	flags.StringVar(&f.sbom, "sbom", "", "attach this software bill of materials: SPDX in JSON")
	flags.BoolVar(&f.unchecked, "unchecked", false, "check only the key, the manifest, the size and the tag")
	flags.BoolVar(&f.move, "move", false, "let a tag be another word than the version, and name this plugin from now on")
	flags.BoolVar(&f.unsigned, "unsigned", false, "push without a signature")
	f.registry.AddOnline(cmd)
	flags.StringVar(&f.project, "project", "", "folder with the project, to build it again (default: the one of plugin.yaml beside or above FILE)")
	flags.StringVar(&f.cases, "cases", "", "folder of your own cases (default: tests next to plugin.yaml)")
	flags.String("cache-dir", "", "folder of compiled plugins; off keeps none")
	f.short, f.format = true, cli.FormatFlag(cmd, "text", "json")
	cmd.MarkFlagsMutuallyExclusive("key", "unsigned")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error { return publish(a, cmd, &f, args) })
	return cmd
}

// maxSBOM is the largest software bill of materials that is attached, in bytes.
const maxSBOM = 16 << 20

// errRefused is the error of a publication with a finding.
var errRefused = errors.New("the plugin is not published")

func publish(a *cli.App, cmd *cobra.Command, f *publishFlags, args []string) error {
	p, err := newPublication(a, cmd, f, args)
	if err != nil {
		return err
	}
	defer p.close()
	p.check(cmd)
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if !f.dryRun && p.ok() {
		if err := p.push(cmd.Context()); err != nil {
			return err
		}
	}
	if err := p.emit(a, *f.format); err != nil {
		return err
	}
	if !p.ok() {
		return cli.Silent(errRefused)
	}
	return nil
}

// publication is one plugin on its way to a registry.
type publication struct {
	flags *publishFlags
	tests *tester
	file  string
	ref   *registry.Reference // nil: no registry
	// client is nil without a registry. spec and artifact are nil for a module without a valid manifest,
	// key for a plugin that is not signed.
	client   *registry.Client
	module   []byte
	spec     *spec.Spec
	artifact *registry.Artifact
	key      *trust.SecretKey
	report   publishReport
	outcome  string // what the last lines of the report begin with
	// attachments are the documents that are pushed with the plugin.
	attachments []registry.Attachment
}

// publishReport is the output of "plugin publish".
type publishReport struct {
	File    string `json:"file"`
	Plugin  string `json:"plugin,omitempty"`
	Version string `json:"version,omitempty"`
	// Reference has the digest of the artifact once the plugin is published.
	Reference string `json:"reference,omitempty"`
	// Digest is that of the artifact in a registry, Module that of the module.
	Digest string `json:"digest,omitempty"`
	Module string `json:"module,omitempty"`
	// Signer is the id of the key that signed, "" for none.
	Signer string `json:"signer,omitempty"`
	// Attached are the media types of what was attached.
	Attached  []string  `json:"attached,omitempty"`
	Published bool      `json:"published"`
	Checks    []finding `json:"checks"`
}

// The verdicts of a check. verdictSkip says that it does not apply or could not be made.
const (
	verdictPass = "pass"
	verdictFail = "fail"
	verdictSkip = "skip"
)

// finding is the outcome of one check.
type finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	// Detail says what was found, with the remedy of a failure in brackets.
	Detail string `json:"detail"`
}

// newPublication reads what is to be published. The caller closes it.
func newPublication(a *cli.App, cmd *cobra.Command, f *publishFlags, args []string) (*publication, error) {
	if !f.dryRun && (len(args) < 2 || f.key.Path == "" && !f.unsigned) {
		return nil, cli.Usagef(cmd, "want a REFERENCE, and --key FILE or --unsigned (--dry-run needs neither)")
	}
	tests, err := newTester(a, cmd, &f.testFlags)
	if err != nil {
		return nil, err
	}
	p := &publication{flags: f, tests: tests, outcome: "published"}
	if p.file, err = moduleFile(args[0]); err != nil {
		return nil, err
	}
	if p.module, err = readModule(p.file); err != nil {
		return nil, err
	}
	p.report.File = p.file
	if f.sbom != "" {
		data, err := readSBOM(f.sbom)
		if err != nil {
			return nil, fmt.Errorf("flag --sbom: %w", err)
		}
		p.attachments = append(p.attachments, registry.Attachment{Type: registry.TypeSBOM, Title: filepath.Base(f.sbom), Data: data})
	}
	if len(args) < 2 {
		return p, nil
	}
	ref, err := registry.ParseReference(args[1])
	if err != nil {
		return nil, cli.UsageError(cmd, err)
	}
	p.ref = &ref
	loaded, err := a.Load(cmd)
	if err != nil {
		return nil, err
	}
	p.client, err = f.registry.Client(cmd, nil, loaded.Registries) // no bar: the checks have that line
	return p, err
}

func (p *publication) close() {
	p.tests.progress.Stop()
	if p.client != nil {
		p.client.Close()
	}
}

// ok reports whether no check failed.
func (p *publication) ok() bool {
	return !slices.ContainsFunc(p.report.Checks, func(f finding) bool { return f.Verdict == verdictFail })
}

// push sends the plugin, then its signature, then its documents. To repeat it after an error is safe.
func (p *publication) push(ctx context.Context) error {
	if p.key != nil {
		about, err := lock.Statement(p.spec)
		if err != nil {
			return err
		}
		envelope, err := p.key.SignStatement(p.ref.Name(), p.artifact.Digest, about)
		if err != nil {
			return err
		}
		p.attachments = slices.Insert(p.attachments, 0, registry.Attachment{Type: registry.TypeSignature, Data: envelope})
		p.report.Signer = p.key.Public().ID
	}
	p.tests.progress.Start(fmt.Sprintf("pushing %s", p.ref))
	pushed, err := p.client.Push(ctx, *p.ref, p.artifact, registry.PushOptions{Move: p.flags.move})
	if err != nil {
		return err
	}
	for i, a := range p.attachments {
		if _, err := p.client.Attach(ctx, pushed, a); err != nil {
			return fmt.Errorf("%s is pushed without %d of its %d attachments: %w (run the command again)", pushed, len(p.attachments)-i, len(p.attachments), err)
		}
		p.report.Attached = append(p.report.Attached, a.Type)
	}
	p.report.Reference, p.report.Published = pushed.String(), true
	return nil
}

// emit prints the report.
func (p *publication) emit(a *cli.App, format string) error {
	p.tests.progress.Stop()
	var b bytes.Buffer
	r := &p.report
	if format == "json" {
		if err := cli.WriteJSON(&b, r); err != nil {
			return err
		}
		return a.EmitText(&b)
	}
	failed := 0
	var rows [][]string
	for _, f := range r.Checks {
		rows = append(rows, []string{f.Check, f.Verdict, cli.OneCell(f.Detail)})
		if f.Verdict == verdictFail {
			failed++
		}
	}
	cli.Table(&b, []string{"CHECK", "VERDICT", "DETAIL"}, rows)
	switch {
	case failed > 0:
		fmt.Fprintf(&b, "\n%s: %d of %d checks refuse it, nothing is published\n", r.File, failed, len(r.Checks))
	case !r.Published:
		fmt.Fprintf(&b, "\n%s %s can be published\n", r.Plugin, r.Version)
	default:
		fmt.Fprintf(&b, "\n%s %s\nsigned by %s\nattached %s\n", p.outcome, r.Reference, cli.Dash(r.Signer), strings.Join(r.Attached, ", "))
	}
	return a.EmitText(&b)
}

// readSBOM reads a software bill of materials.
func readSBOM(file string) ([]byte, error) {
	if _, err := os.Stat(file); err == nil && !isFile(file) { // a pipe would wait
		return nil, fmt.Errorf("%s: not a regular file: %w (name a file)", file, config.ErrInvalid)
	}
	data, err := cli.ReadFile(file, maxSBOM)
	if err != nil {
		return nil, err
	}
	var spdx struct {
		Version string          `json:"spdxVersion"`
		Context json.RawMessage `json:"@context"` // SPDX 3
	}
	if err := json.Unmarshal(data, &spdx); err != nil || spdx.Version == "" && len(spdx.Context) == 0 {
		return nil, fmt.Errorf("%s: %w: is no SPDX in JSON (want an object with spdxVersion, or with @context)", file, config.ErrInvalid)
	}
	return data, nil
}

// readModule reads a module, and at most one byte more than a registry's limit.
func readModule(file string) ([]byte, error) { return readUpTo(file, registry.DefaultMaxModule+1) }

// readUpTo reads the beginning of a regular file.
func readUpTo(file string, limit int64) ([]byte, error) {
	if _, err := os.Stat(file); err == nil && !isFile(file) {
		return nil, fmt.Errorf("%s: not a regular file (name a file)", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
