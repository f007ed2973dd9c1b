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
		Long: `Write a working set-up that can answer a first question. FOLDER is the folder to
write into; the default is the current one. The files are:

  anchor.yaml   a commented configuration
  plugins       folder-search, which finds documents, and keep-best, which drops
                those that match far worse than the best one
  sample-docs   documents about anchor-host to search; name your own instead

With --minimal it writes anchor.yaml without plugins and an empty plugin folder.
If one of the files exists, nothing is written unless --force is given.`,
		Example: `  anchor-host init && anchor-host build "` + sampleQuestion + `"
  anchor-host init my-project
  anchor-host init --minimal --force`,
		Args: cobra.MaximumNArgs(1),
	}
	force := cmd.Flags().Bool("force", false, "overwrite existing files")
	minimal := cmd.Flags().Bool("minimal", false, "write a configuration without plugins and documents")
	cmd.RunE = a.Run(func(_ *cobra.Command, args []string) error {
		folder := "."
		if len(args) == 1 {
			folder = filepath.Clean(args[0]) // "" is the current folder
		}
		files, err := initFiles(*minimal)
		if err != nil {
			return err
		}
		if err := a.initialize(folder, files, *force); err != nil {
			return err
		}
		a.sayNext(folder, len(files), *minimal)
		return nil
	})
	return cmd
}

// initFiles are the files of a new set-up, the configuration first.
func initFiles(minimal bool) ([]initFile, error) {
	if minimal {
		files, err := filesOf(templates, "template/minimal", "")
		if err != nil {
			return nil, err
		}
		readme, err := filesOf(templates, "template/site/plugins", "plugins/")
		return append(files, readme...), err
	}
	files, err := filesOf(templates, "template/site", "")
	if err != nil {
		return nil, err
	}
	plugins, err := filesOf(starter.Files(), ".", "plugins/")
	return append(files, plugins...), err
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
func (a *app) sayNext(folder string, count int, minimal bool) {
	next := []string{
		`anchor-host build "` + sampleQuestion + `"`,
		`anchor-host build --explain "` + sampleQuestion + `"`,
		"anchor-host plugin inspect folder-search",
	}
	if minimal {
		next = []string{
			"anchor-host config validate",
			"anchor-host plugin new my-filter --lang go --kind filter",
			`anchor-host build "hello"`,
		}
	}
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
