package authoring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Detect returns the language of the project in dir: the one in a line
// "# language: tinygo" of its plugin.yaml, or else the one that its files show.
// Errors wrap ErrLanguage, or are errors of reading the folder.
func Detect(dir string) (string, error) {
	manifest, err := readBounded(filepath.Join(dir, ManifestFile), maxManifest, "shorten it")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(manifest)) {
		if stated, ok := strings.CutPrefix(line, languageComment); ok {
			t, err := Lookup(strings.TrimSpace(stated))
			if err != nil {
				return "", fmt.Errorf("%s: %w", filepath.Join(dir, ManifestFile), err)
			}
			return t.Language, nil
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var marks []string
	for _, t := range Toolchains {
		for _, mark := range t.Marks {
			if hasMatch(entries, mark) {
				return t.Language, nil
			}
			marks = append(marks, mark)
		}
	}
	return "", fmt.Errorf("%s: %w: it has none of %s (name the folder of a project, or its language with --lang)", dir, ErrLanguage, strings.Join(marks, ", "))
}

func hasMatch(entries []os.DirEntry, pattern string) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		ok, _ := filepath.Match(pattern, e.Name()) // the patterns are constants
		return ok && !e.IsDir()
	})
}

// languageComment begins the line of plugin.yaml that names the language. It is necessary
// if the files of a project fit several languages.
const languageComment = "# language:"
