package authoring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// ManifestFile is the name of the manifest in a project.
const ManifestFile = "plugin.yaml"

// readManifest reads and checks the manifest of a project. Mistakes in it are a
// strict.Problems with file, line and key.
func readManifest(dir string) (*manifest.Manifest, []byte, error) {
	return readManifestFile(filepath.Join(dir, ManifestFile))
}

func readManifestFile(file string) (*manifest.Manifest, []byte, error) {
	text, err := readBounded(file, maxManifest)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: %w (a project has one; write a project with: anchor-host plugin new)", file, os.ErrNotExist)
	} else if err != nil {
		return nil, nil, err
	}
	doc, err := strict.ParseYAML(file, text)
	if err != nil {
		return nil, nil, err
	}
	if err := lintSchemas(file, doc); err != nil {
		return nil, nil, err
	}
	m, err := spec.ParseManifest(text)
	if err != nil {
		return nil, nil, place(file, doc, err)
	}
	return m, text, nil
}

// maxManifest bounds the bytes of a manifest, as a host does.
const maxManifest = 1 << 20

// readBounded reads a file of at most limit bytes.
func readBounded(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", file, limit)
	}
	return data, err
}

// place adds the line to each mistake in a manifest.
func place(file string, doc *strict.Node, err error) error {
	problem := strict.Problem{File: file, Pos: doc.Pos, Message: err.Error()}
	if _, serr := fmt.Sscanf(problem.Message, "line %d:", &problem.Pos.Line); serr == nil {
		_, problem.Message, _ = strings.Cut(problem.Message, ": ")
	}
	var wrong *manifest.Error
	if errors.As(err, &wrong) {
		at, _ := doc.Find(wrong.Path)
		problem.Pos, problem.Path, problem.Message = at.Pos, wrong.Path, wrong.Msg
	}
	return strict.Problems{problem}
}
