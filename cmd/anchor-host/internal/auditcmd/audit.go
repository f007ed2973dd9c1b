// Package auditcmd implements "anchor-host audit": it verifies the audit logs of serve.
package auditcmd

import (
	"crypto/ed25519"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/server/audit"
)

// Command returns "audit".
func Command(a *cli.App) *cobra.Command {
	cmd := cli.Group(&cobra.Command{
		Use:   "audit",
		Short: "Verify the audit log of serve",
		Long: `serve writes an audit log if server.audit.path in anchor.yaml names a file: a line for
each request that needs a key, with who, which tenant, what and how it ended, and
without content. Each line has the digest of the line before it, and signed lines
cover all before them.`,
		Example: `  anchor-host audit verify audit.jsonl* --key audit.jsonl.key.pub`,
	})
	cmd.AddCommand(verify(a))
	return cmd
}

func verify(a *cli.App) *cobra.Command {
	var keyFile string
	var heads []string
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE...",
		Short: "Find the first line of an audit log that was changed, removed or added",
		Long: `Read the files of an audit log, in any order, and find the first line that is not as
it was written. --key verifies the signatures; without it, the
whole log could be a forgery.

What is missing at the end shows only with a head from elsewhere: serve logs each head
as NUMBER:DIGEST, and this command prints the last one. Name it with --expect.

The exit code is 3 if a line is not as it was written. Names that end with .lock, .key
or .pub are skipped, so that "audit.jsonl*" names all files of a log.`,
		Example: `  anchor-host audit verify audit.jsonl* --key audit.jsonl.key.pub
  anchor-host audit verify audit.jsonl* --key audit.jsonl.key.pub --expect "$HEAD" -o json`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringVar(&keyFile, "key", "", "file of the public key, in PEM")
	cmd.Flags().StringArrayVar(&heads, "expect", nil, "a head that the log must have, as NUMBER:DIGEST; repeat it for more")
	format := cli.FormatFlag(cmd, "text", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		var o audit.VerifyOptions
		for _, text := range heads {
			h, err := audit.ParseHead(text)
			if err != nil {
				return cli.Usagef(cmd, "flag --expect: %v", err)
			}
			o.Expect = append(o.Expect, h)
		}
		if keyFile != "" {
			var key ed25519.PublicKey
			key, err := audit.PublicKey(keyFile)
			if err != nil {
				return err
			}
			o.Key = key
		}
		report, err := audit.Verify(logs(args), o)
		if err != nil {
			return err
		}
		return printReport(a, *format, report)
	})
	return cmd
}
