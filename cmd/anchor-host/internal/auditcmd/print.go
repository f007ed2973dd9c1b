package auditcmd

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/server/audit"
)

// logs leaves out files that stand beside a log.
func logs(names []string) (list []string) {
	for _, name := range names {
		switch filepath.Ext(name) {
		case ".lock", ".key", ".pub":
		default:
			list = append(list, name)
		}
	}
	return list
}

func printReport(a *cli.App, format string, r *audit.Report) error {
	var err error
	if format == "text" {
		var b bytes.Buffer
		text(&b, r)
		err = a.EmitText(&b)
	} else {
		err = a.Print(format, cli.Listing{Data: r})
	}
	if err == nil && r.Broken != nil {
		err = fmt.Errorf("%s:%d: %s: %w", r.Broken.File, r.Broken.Line, r.Broken.What, audit.ErrInvalid)
	}
	return err
}

func text(b *bytes.Buffer, r *audit.Report) {
	fmt.Fprintf(b, "lines: %d (%d to %d) in %d files\n", r.Lines, r.First, r.Last, len(r.Files))
	signatures := "not verified (name the key with --key)"
	if r.SignaturesVerified {
		signatures = "verified"
	}
	fmt.Fprintf(b, "heads: %d, signatures %s\n", r.Heads, signatures)
	if r.LastHead != nil {
		fmt.Fprintf(b, "last head: %s\n", r.LastHead)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", note)
	}
	if r.Broken == nil {
		b.WriteString("every line is as it was written\n")
	}
}
