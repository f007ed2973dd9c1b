package authoring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/internal/units"
)

// ManifestFile is the name of the manifest in a project.
const ManifestFile = "plugin.yaml"

// readManifest reads and checks the manifest of a project. Mistakes in it are a
// strict.Problems with file, line and key.
func readManifest(dir string) (*manifest.Manifest, []byte, error) {
	return readManifestFile(filepath.Join(dir, ManifestFile))
}

func readManifestFile(file string) (*manifest.Manifest, []byte, error) {
	text, err := readBounded(file, maxManifest, "shorten descriptions, or move large values out of it")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s: %w (a project has one; write a project with: anchor-host plugin new)", file, os.ErrNotExist)
	} else if err != nil {
		return nil, nil, err
	}
	doc, err := strict.ParseYAML(file, text)
	if err != nil {
		return nil, nil, err
	}
	linted := lintSchemas(file, doc)
	m, err := spec.ParseManifest(text)
	if linted != nil || err != nil {
		return nil, nil, allMistakes(file, doc, linted, err)
	}
	return m, text, nil
}

// maxMistakes bounds the mistakes that an error about a manifest lists.
const maxMistakes = 20

// allMistakes lists the mistakes in a manifest, in its order: those in schemas, first, and the others.
// A reader stops at its first mistake. So each is replaced by what is right, and the rest is read again.
func allMistakes(file string, doc *strict.Node, linted, first error) error {
	var found strict.Problems
	errors.As(linted, &found)
	var repaired []string
	for err := first; err != nil && len(found) < maxMistakes; {
		var wrong *manifest.Error
		known := errors.As(err, &wrong)
		if !known && linted != nil || known && slices.ContainsFunc(repaired, func(p string) bool { return strings.HasPrefix(p, wrong.Path) }) {
			break // about a schema, which the lint knows better, or about what the repair has left
		}
		if problem := place(file, doc, err); !slices.ContainsFunc(found, func(p strict.Problem) bool { return strings.HasPrefix(p.Path, problem.Path) }) {
			found = append(found, problem)
		}
		if !known || !repair(doc, wrong.Path) {
			break
		}
		repaired = append(repaired, wrong.Path)
		text, jerr := doc.JSON()
		if jerr != nil {
			break
		}
		_, err = manifest.Parse(text)
	}
	return found.Err()
}

// repair removes the value at a path from a document, or puts a right one in its place. It reports
// false if there is no such value.
func repair(doc *strict.Node, path string) bool {
	value, ok := doc.Find(path)
	if !ok || value == doc {
		return false
	}
	switch path {
	case "abi":
		*value = strict.Node{Kind: strict.Int, Text: fmt.Sprint(abi.Version)}
	case "name":
		*value = strict.Node{Kind: strict.String, Text: "name"}
	case "version":
		*value = strict.Node{Kind: strict.String, Text: "0.0.0"}
	default:
		return doc.Remove(value)
	}
	return true
}

// keyOf returns the position of the key of a value below a node.
func keyOf(n, value *strict.Node) (strict.Pos, bool) {
	for i := range n.Items() {
		if at, ok := keyOf(&n.Items()[i], value); ok {
			return at, true
		}
	}
	for i := range n.Entries() {
		e := &n.Entries()[i]
		if &e.Value == value {
			return e.Pos, true
		}
		if at, ok := keyOf(&e.Value, value); ok {
			return at, true
		}
	}
	return strict.Pos{}, false
}

// maxManifest bounds the bytes of a manifest, as a host does.
const maxManifest = 1 << 20

// readBounded reads a regular file of at most limit bytes. remedy says what to do with a larger one. To open a pipe could take for ever.
func readBounded(file string, limit int64, remedy string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file (name a file)", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: larger than %s, the most that a host reads (%s)", file, units.FormatSize(limit), remedy)
	}
	return data, err
}

// place adds the line to a mistake in a manifest. The line of a wrong key is that of the key.
func place(file string, doc *strict.Node, err error) strict.Problem {
	problem := strict.Problem{File: file, Pos: doc.Pos, Message: err.Error()}
	if _, serr := fmt.Sscanf(problem.Message, "line %d:", &problem.Pos.Line); serr == nil {
		_, problem.Message, _ = strings.Cut(problem.Message, ": ")
	}
	var wrong *manifest.Error
	if !errors.As(err, &wrong) {
		placeSchema(&problem, doc)
		return problem
	}
	at, found := doc.Find(wrong.Path)
	problem.Pos, problem.Path, problem.Message = at.Pos, wrong.Path, wrong.Msg
	if key, ok := keyOf(doc, at); ok && found && strings.HasPrefix(wrong.Msg, "unknown key") {
		problem.Pos = key
	}
	return problem
}

// schemaError is what a compiler of schemas says: of which operation, none for the settings of init,
// in which part, and what is wrong.
var schemaError = regexp.MustCompile(`^(?:operation "([a-z_]+)": )?settings schema: (?:anchor:settings#(/[^ ]*)?: )?(.*)`)

// placeSchema adds the path and the line to a mistake of a schema as a whole.
func placeSchema(problem *strict.Problem, doc *strict.Node) {
	found := schemaError.FindStringSubmatch(problem.Message)
	if found == nil {
		return
	}
	path := "settings"
	if found[1] != "" {
		path = "operations." + found[1] + ".settings"
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(found[2], "/"), "/") {
		if part != "" {
			path = strict.Join(path, part)
		}
	}
	at, _ := doc.Find(path)
	problem.Pos, problem.Path, problem.Message = at.Pos, path, found[3]
}
