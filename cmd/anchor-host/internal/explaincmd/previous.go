package explaincmd

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
)

// ReadPrevious reads the previous build: its result, or its formatted output as it was
// printed. It returns nil if path is empty.
func ReadPrevious(a *cli.App, path string) (*promptcache.Snapshot, error) {
	if path == "" {
		return nil, nil
	}
	if path == "-" {
		return nil, fmt.Errorf("%w: --previous needs a file (stdin is for the query and the request)", config.ErrInvalid)
	}
	name, data, err := a.ReadAll(path, "previous build", builtdoc.MaxBytes)
	if err != nil {
		return nil, err
	}
	var keys map[string]json.RawMessage
	switch isDocument := json.Unmarshal(data, &keys) == nil; {
	case isDocument && keys["formatted_output"] != nil:
		d, err := builtdoc.Decode(name, data)
		if err != nil {
			return nil, err
		}
		return promptcache.NewSnapshot(d.Output, d.Window.Items)
	case isDocument && keys["error"] != nil:
		return nil, fmt.Errorf("%w: %s: that build failed and has no output", config.ErrInvalid, name)
	case isDocument:
		return promptcache.NewSnapshot(json.RawMessage(data), nil)
	}
	return promptcache.NewSnapshot(string(bytes.TrimSuffix(data, []byte("\n"))), nil) // as writeWindow ends it
}

// CacheLine summarizes in one line how much a prompt cache can reuse.
func CacheLine(c *promptcache.Report) string {
	s := fmt.Sprintf("cache: the first %d of the previous build's %d tokens are the same", c.CommonTokens, c.PreviousTokens)
	b := c.BrokenBy
	if b == nil {
		return s
	}
	s += fmt.Sprintf("; block %d differs", b.Block)
	if b.Item != "" {
		s += fmt.Sprintf(": item %s %s", cli.OneCell(b.Item), b.How)
	}
	if b.Origin != nil {
		s += " by " + builtdoc.Actor(*b.Origin)
	}
	return s
}
