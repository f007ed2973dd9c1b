package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/plugins/starter"
)

//go:embed template
var templates embed.FS

// sampleQuestion is a question that a section of the sample documents answers.
const sampleQuestion = "How do I limit a plugin's memory?"

func (a *app) initCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [flags] [FOLDER]",
		Short: "Write a configuration that answers a first question",
		Long: `Write a working set-up that can answer a first question into FOLDER, the current one by
default: anchor.yaml with comments, the plugins folder-search and keep-best, and
documents about anchor-host to search; name your own instead.

With --collection it writes no plugins, and an anchor.yaml that searches a collection,
which anchor-host ingest makes of the documents. With --minimal it writes anchor.yaml
without plugins and an empty plugin folder. If one of the files exists, nothing is
written unless --force is given.`,
		Example: `  anchor-host init && anchor-host build "` + sampleQuestion + `"
  anchor-host init my-project
  anchor-host init --collection
  anchor-host init --minimal --force`,
		Args: cobra.MaximumNArgs(1),
	}
	force := cmd.Flags().Bool("force", false, "overwrite existing files")
	collection := cmd.Flags().Bool("collection", false, "write a configuration that searches a collection, and documents for it")
	minimal := cmd.Flags().Bool("minimal", false, "write a configuration without plugins and documents")
	cmd.MarkFlagsMutuallyExclusive("collection", "minimal")
	cmd.RunE = a.Run(func(_ *cobra.Command, args []string) error {
		folder := "."
		if len(args) == 1 {
			folder = filepath.Clean(args[0]) // "" is the current folder
		}
		set := setups["site"]
		switch {
		case *minimal:
			set = setups["minimal"]
		case *collection:
			set = setups["collection"]
		}
		files, err := set.files()
		if err != nil {
			return err
		}
		if err := a.initialize(folder, files, *force); err != nil {
			return err
		}
		a.sayNext(folder, len(files), set.next)
		return nil
	})
	return cmd
}

// setup is what init can write.
type setup struct {
	sources []fileSource // the configuration first
	next    []string     // commands to try
}

// fileSource is a folder of files, and what comes before their paths.
type fileSource struct {
	from           fs.FS
	folder, prefix string
}

// setups are those of init by name.
var setups = map[string]setup{
	"site": {
		[]fileSource{{templates, "template/site", ""}, {starter.Files(), ".", "plugins/"}},
		[]string{`anchor-host build "` + sampleQuestion + `"`, `anchor-host build --explain "` + sampleQuestion + `"`, "anchor-host plugin inspect folder-search"},
	},
	"collection": {
		[]fileSource{{templates, "template/collection", ""}, {templates, "template/site/sample-docs", "sample-docs/"}},
		[]string{"anchor-host ingest sample-docs --collection docs", `anchor-host build "` + sampleQuestion + `"`, `anchor-host build --explain "` + sampleQuestion + `"`},
	},
	"minimal": {
		[]fileSource{{templates, "template/minimal", ""}, {templates, "template/site/plugins", "plugins/"}},
		[]string{"anchor-host config validate", "anchor-host plugin new my-filter --lang go --kind filter", `anchor-host build "hello"`},
	},
}

// files lists the files of a set-up.
func (s setup) files() (files []initFile, err error) {
	for _, source := range s.sources {
		more, err := filesOf(source.from, source.folder, source.prefix)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

// filesOf lists the files below a folder, and puts prefix before their paths.
func filesOf(from fs.FS, folder, prefix string) (files []initFile, err error) {
	err = fs.WalkDir(from, folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, path)
		files = append(files, initFile{prefix + strings.TrimPrefix(path, folder+"/"), content})
		return err
	})
	return files, err
}

// initialize writes all files. Without force it writes nothing if some of them exist; the error
// names those.
func (a *app) initialize(folder string, files []initFile, force bool) error {
	there, err := present(folder, files)
	if err != nil {
		return err
	}
	if len(there) > 0 && !force {
		return fmt.Errorf("%s: %w (overwrite with --force, or name another folder)", strings.Join(there, ", "), fs.ErrExist)
	}
	if err := writeAll(folder, files); err != nil {
		return err
	}
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%s\n", f.in(folder))
	}
	return a.Emit(&b)
}

// sayNext prints how many files were written and which commands to try next.
func (a *app) sayNext(folder string, count int, next []string) {
	if folder != "." {
		next = append([]string{"cd " + shellWord(folder)}, next...)
	}
	a.Say("%d files written; next:", count)
	for _, command := range next {
		fmt.Fprintln(a.Err, "  "+plain.Line(command))
	}
}

// shellWord returns a path as one word of a POSIX shell that no command takes for a flag.
func shellWord(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	plainly := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./", r)
	}
	if strings.IndexFunc(path, func(r rune) bool { return !plainly(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
