package registrycmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// readPlugin reads the module that a file or a plugin folder has, with its manifest inside.
func readPlugin(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return packFolder(path)
	}
	module, err := cli.ReadFile(path, maxModule)
	if err != nil {
		return nil, fmt.Errorf("push: %w (build it with: anchor-host plugin build)", err)
	}
	return module, nil
}

// packFolder embeds the manifest of a plugin folder in its module. A folder without a manifest
// has a module that needs none.
func packFolder(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("push: look for the module: %w", err)
	}
	var modules []string
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".wasm" && !e.IsDir() {
			modules = append(modules, filepath.Join(dir, e.Name()))
		}
	}
	switch len(modules) {
	case 0:
		return nil, fmt.Errorf("push: %s has no .wasm file: %w (build it with: anchor-host plugin build %[1]s)", dir, os.ErrNotExist)
	case 1:
	default:
		return nil, fmt.Errorf("push: %s has %d .wasm files, want one (name the file)", dir, len(modules))
	}
	if _, err := os.Stat(filepath.Join(dir, authoring.ManifestFile)); err != nil {
		return cli.ReadFile(modules[0], maxModule)
	}
	temporary, err := os.MkdirTemp("", "anchor-host-push-")
	if err != nil {
		return nil, fmt.Errorf("push %s: pack the plugin: %w", dir, err)
	}
	defer os.RemoveAll(temporary)
	_, packed, err := authoring.Pack(modules[0], "", filepath.Join(temporary, "packed.wasm"))
	if err != nil {
		return nil, fmt.Errorf("push: %w", err)
	}
	return cli.ReadFile(packed, maxModule)
}
