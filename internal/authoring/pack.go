package authoring

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/component"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/pybuild"
)

// maxModule bounds the module that Pack reads, in bytes. A host loads none of this size.
const maxModule = 1 << 30

// Pack embeds a manifest in a module that another tool has built, checks the result as a host
// does, and writes it. A component of the world anchor:plugin becomes a module before. manifestFile is empty for plugin.yaml beside the module. output is a file,
// or a folder for <name>.wasm; empty means the folder of the module, which must then have another
// name.
func Pack(ctx context.Context, module, manifestFile, output string) (*spec.Spec, string, error) {
	wasm, err := readBounded(module, maxModule, "strip it of debug information")
	if err != nil {
		return nil, "", err
	}
	if manifestFile == "" {
		manifestFile = filepath.Join(filepath.Dir(module), ManifestFile)
	}
	m, text, err := readManifestFile(manifestFile)
	if err != nil {
		return nil, "", err
	}
	j := &job{options: BuildOptions{Output: output, Dir: filepath.Dir(module)}}
	if output == "" {
		j.options.Output = filepath.Dir(module)
	}
	path := j.output(m.Name + ".wasm")
	if same(path, module) {
		return nil, "", fmt.Errorf("%s: is the module itself (name another file with --output)", path)
	}
	if component.Is(wasm) {
		operations, permissions := asked(m)
		if wasm, err = pybuild.FromComponent(wasm, operations, permissions); err != nil {
			return nil, "", fmt.Errorf("pack %s: %w (want a component of the world anchor:plugin, or a core module)", module, errkind.As(spec.ErrNotWasm, err))
		}
	}
	if wasm, err = embedAll(wasm, text, filepath.Dir(manifestFile)); err != nil {
		return nil, "", fmt.Errorf("pack %s: %w", module, err)
	}
	packed, err := spec.Read("", wasm, nil)
	if err != nil {
		return nil, "", fmt.Errorf("pack %s: %w", module, err)
	}
	if err := loadable(ctx, packed); err != nil {
		return nil, "", fmt.Errorf("pack %s: %w", module, err)
	}
	return packed, path, j.write(path, wasm, text)
}

// same reports whether two paths lead to one file.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
