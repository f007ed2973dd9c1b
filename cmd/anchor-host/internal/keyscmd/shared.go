package keyscmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/following"
	"github.com/anchor-host/anchor-host/internal/config"
)

// errSame says that a command has changed nothing.
var errSame = errors.New("nothing to write")

// shared runs a command on a copy of the keys of all hosts, and makes the copy those of all hosts if the
// command has changed it. It runs again if somebody else was first.
func shared(loaded *config.Loaded, work func(file string) (cli.Listing, error), cmd *cobra.Command) (l cli.Listing, err error) {
	s := following.Store(loaded)
	defer func() { err = cmp.Or(err, s.Close()) }()
	dir, err := os.MkdirTemp("", "anchor-host-keys")
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "keys.yaml")
	err = cluster.EditKeys(cmd.Context(), s, func(old []byte) ([]byte, error) {
		if old == nil && loaded.Server.Keys != "" {
			first, err := os.ReadFile(loaded.Path(loaded.Server.Keys))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("keys: read: %w", err)
			}
			old = first
		}
		if old != nil {
			if err := os.WriteFile(file, old, 0o600); err != nil {
				return nil, err
			}
		}
		if l, err = work(file); err != nil {
			return nil, err
		}
		now, err := os.ReadFile(file)
		if err == nil && string(now) == string(old) {
			err = errSame
		}
		return now, err
	})
	if errors.Is(err, errSame) {
		err = nil
	}
	return l, err
}
