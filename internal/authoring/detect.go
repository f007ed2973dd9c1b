package authoring

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
			switch {
			case !hasMatch(entries, mark):
			case t == tsToolchain && !isAssemblyScript(dir):
				return typescriptToolchain.Language, nil
			default:
				return t.Language, nil
			}
			marks = append(marks, mark)
		}
	}
	return "", fmt.Errorf("%s: %w: it has none of %s (name the folder of a project, or its language with --lang)", dir, ErrLanguage, strings.Join(marks, ", "))
}

// isAssemblyScript reports whether a project with plugin.ts is in AssemblyScript and not in TypeScript: a file
// names its compiler, or it exports functions by the names that hosts call.
func isAssemblyScript(dir string) bool {
	for name, pattern := range map[string]*regexp.Regexp{"asconfig.json": anything, "package.json": namesCompiler, "tsconfig.json": namesCompiler, "plugin.ts": exportsForHosts} {
		text, _ := readBounded(filepath.Join(dir, name), maxManifest, "") // of a larger file, the beginning
		if len(text) > 0 && pattern.Match(text) {
			return true
		}
	}
	return false
}

var (
	anything        = regexp.MustCompile("")
	namesCompiler   = regexp.MustCompile(`\bassemblyscript\b`)
	exportsForHosts = regexp.MustCompile(`\bexport\s*(function\s+|\{[^}]*\b)anchor_`)
)

func hasMatch(entries []os.DirEntry, pattern string) bool {
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		ok, _ := filepath.Match(pattern, e.Name()) // the patterns are constants
		return ok && !e.IsDir()
	})
}

// languageComment begins the line of plugin.yaml that names the language. It is necessary
// if the files of a project fit several languages.
const languageComment = "# language:"
