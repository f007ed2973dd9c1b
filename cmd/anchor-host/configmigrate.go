package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/migrate"
	"github.com/anchor-host/anchor-host/internal/strict"
)

func (a *app) configMigrateCommand() *cobra.Command {
	var (
		write bool
		out   string
	)
	cmd := &cobra.Command{
		Use:   "migrate [flags] [FILE]",
		Short: "Rewrite a file with former keys",
		Long: `Rewrite a configuration with former keys, such as max_tokens at the top level, to
the keys of now. Comments stay with their keys. The new file is printed, or written
with --to, or with --write in the place of the old one. What cannot be kept is named:
keys that were removed, and keys that never were.

FILE is anchor.yaml unless it is stated; - reads the file from stdin.`,
		Example: `  anchor-host config migrate | diff anchor.yaml -
  anchor-host config migrate --write`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&write, "write", false, "replace the file")
	cmd.Flags().StringVar(&out, "to", "", "write the new file here")
	cmd.MarkFlagsMutuallyExclusive("write", "to")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		name := config.DefaultFile
		if len(args) > 0 {
			name = args[0]
		}
		if name == "-" && write {
			return cli.Usagef(cmd, "--write needs a file (name it, or print the new file)")
		}
		data, err := a.readConfiguration(name)
		if err != nil {
			return err
		}
		text, notes, err := migrate.Rewrite(name, data)
		if err != nil {
			return fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
		for _, n := range append(notes, leftOver(name, text)...) {
			a.Say("note: %s", n)
		}
		switch {
		case write && bytes.Equal(text, data):
			a.Say("%s has no former key", name)
			return nil
		case write:
			return replaceSynced(name, text)
		case out != "":
			return replaceSynced(out, text)
		}
		return a.EmitText(bytes.NewBuffer(text))
	})
	return cmd
}

// readConfiguration reads a file or stdin.
func (a *app) readConfiguration(name string) ([]byte, error) {
	in, _, err := a.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, config.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > config.MaxFile {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", config.ErrInvalid, name, config.MaxFile>>20)
	}
	return data, nil
}

// leftOver names what is still wrong with a file.
func leftOver(name string, text []byte) (notes []string) {
	_, err := config.Parse(name, text)
	var problems strict.Problems
	if !errors.As(err, &problems) {
		return nil
	}
	for _, line := range strings.Split(problems.Error(), "\n") {
		notes = append(notes, "stays as it is: "+line)
	}
	return notes
}

// replaceSynced writes a file in the place of another one, so that one of the two is there whatever happens.
func replaceSynced(name string, text []byte) (err error) {
	mode := os.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real // a link stays one
	}
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone if it was renamed
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder has the disk keep a new name. Windows cannot sync folders.
func syncFolder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
