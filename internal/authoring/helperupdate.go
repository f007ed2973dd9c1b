package authoring

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// sumsFile says which version of the helper library a project has, and the SHA-256 of each file as
// it was copied, so that an update knows what somebody has edited. "sha256sum -c" reads it, too.
const sumsFile = "helper.sums"

// maxHelperFile bounds the files of a copy that are read, in bytes.
const maxHelperFile = 4 << 20

// unknownVersion is the version of a copy that does not say which it has.
const unknownVersion = "unknown"

// ErrEdited means that an update would overwrite what somebody has edited, or an older version
// replace a newer one.
var ErrEdited = errors.New("not updated")

// HelperUpdate says what an update of the helper library of a project changes.
type HelperUpdate struct {
	Language string `json:"language"`
	// From is the version of the copy, "unknown" if it does not say so, and To that of this program.
	From string `json:"from"`
	To   string `json:"to"`
	// Files are the files that change, by path.
	Files []HelperChange `json:"files"`
	// Written says that the files were written.
	Written bool `json:"written"`
}

// HelperChange is a file that an update changes.
type HelperChange struct {
	// Path is the path in the project, with slashes.
	Path string `json:"path"`
	// Change is "added", "changed" or "removed".
	Change string `json:"change"`
	// Edited says that the file is not as it was copied, or that nobody knows whether it is.
	Edited bool `json:"edited"`
}

// HelperOptions say how UpdateHelper works.
type HelperOptions struct {
	// Dir is the folder of the project, Version that of this program.
	Dir, Version string
	// DryRun writes nothing. Force overwrites edited files, and newer versions.
	DryRun, Force bool
}

// UpdateHelper replaces the copy of the helper library in a project by that of this program. Files
// that are not of the library stay. Without Force it writes nothing if a file that changes was
// edited, and returns the changes with an error that wraps ErrEdited. Other errors wrap ErrLanguage,
// or are those of reading and writing.
func UpdateHelper(o HelperOptions) (*HelperUpdate, error) {
	language, err := Detect(o.Dir)
	if err != nil {
		return nil, err
	}
	t, err := Lookup(language)
	if err != nil {
		return nil, err
	}
	if t.helper == "" {
		return nil, fmt.Errorf("%s: %w: %s has no helper library", o.Dir, ErrLanguage, t.Title)
	}
	at := filepath.Join(o.Dir, helperDir)
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: it is no folder, so the project uses the library that is built in (nothing to update)", at)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := helperCopy{root: root}
	if err := c.compare(t); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	u := &HelperUpdate{Language: language, From: c.version, To: o.Version, Files: c.changes}
	if o.DryRun {
		return u, nil
	}
	if err := c.refuse(u); err != nil && !o.Force {
		return u, fmt.Errorf("%s: %w: %w", at, ErrEdited, err)
	}
	sums, err := helperSums(t, o.Version)
	if err == nil {
		err = c.write(sums)
	}
	u.Written = err == nil
	return u, err
}

// helperSums is the content of sumsFile for the library of this program.
func helperSums(t *Toolchain, version string) ([]byte, error) {
	files, err := helperFiles(t)
	var b bytes.Buffer
	fmt.Fprintf(&b, "# The helper library of anchor-host %s. Update it: anchor-host plugin update-helper\n", version)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s  %s\n", sum(files[name]), name)
	}
	return b.Bytes(), err
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// helperCopy is the copy of the library in a project.
type helperCopy struct {
	root *os.Root
	// version is that of the copy, and copied are the sums of its files as they were copied, nil if
	// nobody knows.
	version string
	copied  map[string]string
	// files are those of this program.
	files   map[string][]byte
	changes []HelperChange
}

// compare finds what differs between the copy and the library of this program.
func (c *helperCopy) compare(t *Toolchain) (err error) {
	if c.files, err = helperFiles(t); err != nil {
		return err
	}
	if err := c.readSums(); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(c.files))
	for _, name := range slices.Sorted(maps.Keys(c.copied)) {
		if c.files[name] == nil {
			names = append(names, name)
		}
	}
	for _, name := range names {
		has, err := c.sumOf(name)
		if err != nil {
			return err
		}
		change, wants := "changed", c.files[name]
		switch {
		case wants == nil && has == "" || wants != nil && has == sum(wants):
			continue
		case wants == nil:
			change = "removed"
		case has == "":
			change = "added"
		}
		edited := has != c.copied[name] // a file that its author removed was edited as well
		c.changes = append(c.changes, HelperChange{Path: path.Join(helperDir, name), Change: change, Edited: edited})
	}
	slices.SortFunc(c.changes, func(a, b HelperChange) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// sumOf is the sum of a file of the copy, "" if it is not there.
func (c *helperCopy) sumOf(name string) (string, error) {
	data, err := c.read(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return sum(data), err
}

// read reads a regular file of the copy. No link leads out of the folder.
func (c *helperCopy) read(name string) ([]byte, error) {
	info, err := c.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxHelperFile {
		return nil, fmt.Errorf("%s: not a regular file of at most %d bytes (remove it)", name, maxHelperFile)
	}
	f, err := c.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxHelperFile))
}

// readSums reads sumsFile. A copy of an older program has none.
func (c *helperCopy) readSums() error {
	data, err := c.read(sumsFile)
	c.version = unknownVersion
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c.copied = map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "# The helper library of anchor-host "); ok {
			version, _, _ := strings.Cut(rest, " ")
			c.version = plain.Excerpt(strings.TrimSuffix(version, "."))
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		digest, name, ok := strings.Cut(line, "  ")
		if !ok || len(digest) != hex.EncodedLen(sha256.Size) || name == sumsFile || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("%s: cannot read %q (restore the file, or remove it and use --force)", sumsFile, plain.Excerpt(line))
		}
		c.copied[name] = digest
	}
	return nil
}

// refuse says why the copy should not be overwritten.
func (c *helperCopy) refuse(u *HelperUpdate) error {
	var edited []string
	for _, f := range u.Files {
		if f.Edited && f.Change != "added" {
			edited = append(edited, f.Path)
		}
	}
	switch {
	case newer(u.From, u.To):
		return fmt.Errorf("the copy is of %s, newer than this program's %s (update anchor-host, or use --force)", u.From, u.To)
	case len(edited) > 0 && c.copied == nil:
		return fmt.Errorf("the copy does not say which version it is, and %s differs (look at the changes with --dry-run, then use --force)", list(edited))
	case len(edited) > 0:
		return fmt.Errorf("%s was edited (keep your change elsewhere, then use --force)", list(edited))
	}
	return nil
}

// list names some of many paths.
func list(paths []string) string {
	if len(paths) > 3 {
		return fmt.Sprintf("%s and %d more", plain.Line(strings.Join(paths[:3], ", ")), len(paths)-3)
	}
	return plain.Line(strings.Join(paths, ", "))
}

// newer reports whether one release comes after another. Versions that are no releases have no order.
func newer(a, b string) bool {
	var x, y [3]int
	for _, v := range []struct {
		text string
		to   *[3]int
	}{{a, &x}, {b, &y}} {
		if _, err := fmt.Sscanf(strings.TrimPrefix(v.text, "v"), "%d.%d.%d", &v.to[0], &v.to[1], &v.to[2]); err != nil {
			return false
		}
	}
	return slices.Compare(x[:], y[:]) > 0
}

// write makes the changes, and notes the sums last, so that an update that was cut short is
// repeated. Each file is whole at any time.
func (c *helperCopy) write(sums []byte) error {
	for _, change := range c.changes {
		name := filepath.FromSlash(strings.TrimPrefix(change.Path, helperDir+"/"))
		if change.Change == "removed" {
			if err := c.root.Remove(name); err != nil {
				return err
			}
			continue
		}
		if err := c.replace(name, c.files[filepath.ToSlash(name)]); err != nil {
			return err
		}
	}
	return c.replace(sumsFile, sums)
}

func (c *helperCopy) replace(name string, data []byte) error {
	if err := c.root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	staged := filepath.Join(filepath.Dir(name), ".update-"+filepath.Base(name))
	err := c.root.WriteFile(staged, data, 0o644)
	if err == nil {
		err = c.root.Rename(staged, name)
	}
	if err != nil {
		return errors.Join(err, c.root.Remove(staged))
	}
	return nil
}
