package mcpcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/internal/agents/mcpsource"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// report is what approve prints with -o json.
type report struct {
	Server  string           `json:"server"`
	At      string           `json:"at"`
	Tools   []mcpsource.Tool `json:"tools"`
	Changes []string         `json:"changes"`
	// Approved is false if it was only looked at.
	Approved bool `json:"approved"`
}

// approveCommand returns the command mcp approve.
func approveCommand(a *cli.App) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve [flags] SERVER",
		Short: "Look at the tools of an MCP server, and allow builds to ask it",
		Long: `Start or ask an MCP server that a step with "use: mcp" names, and show where it is, its tools
with their descriptions, and what has changed since the last approval. With --yes, write the
server and the digests of its tools into anchor.lock.

Builds ask only servers that anchor.lock has. A server that changes a tool later waits for
another approval. A server on stdio is a program of this computer that no sandbox holds: this
command runs it.`,
		Example: `  anchor-host mcp approve tickets
  anchor-host mcp approve tickets --yes`,
		Args: cobra.ExactArgs(1),
	}
	cli.ConfigFlag(cmd)
	format := cli.FormatFlag(cmd, "text", "json")
	cmd.Flags().BoolVar(&yes, "yes", false, "write it into anchor.lock")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		r, err := approve(cmd, loaded, args[0], yes)
		if err != nil {
			return err
		}
		if *format == "json" {
			var b bytes.Buffer
			if err := cli.WriteJSON(&b, r); err != nil {
				return err
			}
			return a.Emit(&b)
		}
		return a.EmitText(r.text())
	})
	return cmd
}

func approve(cmd *cobra.Command, loaded *config.Loaded, name string, yes bool) (*report, error) {
	s, err := parts.Server(loaded, name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	path := loaded.LockPath()
	file, err := lock.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = &lock.File{}, nil
	}
	if err != nil {
		return nil, err
	}
	tools, entry, err := mcpsource.Look(cmd.Context(), s, path)
	if err != nil {
		return nil, err
	}
	r := &report{Server: entry.Name, At: entry.At, Tools: tools, Changes: []string{}, Approved: yes}
	if old := file.Server(name); old != nil {
		if old.At != entry.At {
			r.Changes = append(r.Changes, "at "+old.At+" before")
		}
		r.Changes = append(r.Changes, mcpsource.Changes(old.Tools, entry.Tools)...)
	} else {
		r.Changes = append(r.Changes, mcpsource.Changes(nil, entry.Tools)...)
	}
	if yes {
		return r, mcpsource.Approve(cmd.Context(), path, entry)
	}
	return r, nil
}

// text writes a report for people.
func (r *report) text() *bytes.Buffer {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s is %s\n", r.Server, r.At)
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "\n  %s\n    %s\n", plain.Line(t.Name), plain.Line(strings.Join(strings.Fields(t.Description), " ")))
	}
	if len(r.Changes) > 0 {
		fmt.Fprintf(&b, "\nnot approved yet: %s\n", strings.Join(r.Changes, ", "))
	}
	if r.Approved {
		fmt.Fprintf(&b, "\napproved: it is in %s\n", lock.Name)
	} else {
		fmt.Fprintf(&b, "\napprove it: anchor-host mcp approve %s --yes\n", r.Server)
	}
	return &b
}
