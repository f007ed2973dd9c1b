package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

//go:embed template/anchor.yaml
var initConfig []byte

//go:embed template/plugins-README.md
var initReadme []byte

func (a *app) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [flags] [FOLDER]",
		Short: "Write a configuration and a plugin folder to start from",
		Long: `Write anchor.yaml and an empty plugin folder with a README into FOLDER, which is
the current one when none is named. Files that are there are kept: without
--force nothing is written.`,
		Example: `  anchor-host init
  anchor-host init --force my-project`,
		Args: cobra.MaximumNArgs(1),
	}
	force := cmd.Flags().Bool("force", false, "overwrite files that are there")
	cmd.RunE = a.Run(func(_ *cobra.Command, args []string) error {
		folder := "."
		if len(args) == 1 {
			folder = args[0]
		}
		return a.initialize(folder, *force)
	})
	return cmd
}

// initialize writes all files or none that is there already.
func (a *app) initialize(folder string, force bool) error {
	files := []struct {
		path    string
		content []byte
	}{
		{filepath.Join(folder, "anchor.yaml"), initConfig},
		{filepath.Join(folder, "plugins", "README.md"), initReadme},
	}
	for _, f := range files {
		if _, err := os.Lstat(f.path); err == nil && !force {
			return fmt.Errorf("%s: %w (overwrite it with --force)", f.path, fs.ErrExist)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var b bytes.Buffer
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.path, f.content, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n", f.path)
	}
	a.Say(`written; try: anchor-host build --config %s "hello"`, files[0].path)
	return a.Emit(&b)
}
