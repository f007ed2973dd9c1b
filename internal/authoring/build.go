package authoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// Built is a plugin that was built.
type Built struct {
	// Spec is the plugin as the host reads it from the module.
	Spec *spec.Spec
	// Path is the path of the module, Title the name of its source language.
	Path, Title string
	// LeftOut names what a quick build left out, "" if it made the same module as any other.
	LeftOut string
	// Time is how long the toolchain took.
	Time time.Duration
}

// Build builds a project into one module that contains its manifest, and reads the result
// as a host would. It writes only the module, the files that the tools of the language leave
// in the project, and, on request, the manifest next to the module.
//
// An error wraps ErrLanguage or ErrMissing, is a strict.Problems about plugin.yaml, names
// the command that failed, or is an error of spec.Read.
func Build(ctx context.Context, o BuildOptions) (*Built, error) {
	j := &job{options: o}
	if err := j.prepare(); err != nil {
		return nil, err
	}
	manifest, text, err := readManifest(j.options.Dir)
	if err != nil {
		return nil, err
	}
	if j.work, err = os.MkdirTemp("", "anchor-host-build-*"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(j.work)
	j.out, j.manifest = filepath.Join(j.work, "plugin.wasm"), manifest
	began := time.Now()
	wasm, err := j.compile(ctx)
	if err != nil {
		return nil, j.withoutNew(manifest.Name, fmt.Errorf("build %s: %w", manifest.Name, err))
	}
	built := &Built{Title: j.toolchain.Title, Time: time.Since(began), Path: j.output(manifest.Name + ".wasm"), LeftOut: j.leftOut()}
	if wasm, err = embedAll(wasm, text, j.options.Dir); err == nil {
		built.Spec, err = spec.Read("", wasm, nil)
	}
	if err != nil {
		return nil, j.withoutNew(manifest.Name, fmt.Errorf("build %s: %w", manifest.Name, j.unconnected(err)))
	}
	if err := loadable(ctx, built.Spec); err != nil {
		return nil, j.withoutNew(manifest.Name, fmt.Errorf("build %s: %w", manifest.Name, j.unconnected(err)))
	}
	return built, j.write(built.Path, wasm, text)
}

// The files beside the manifest that become texts of the module.
const (
	readmeFile    = "README.md"
	changelogFile = "CHANGELOG.md"
)

// embedAll puts the manifest into a module, and the texts in the folder of the manifest. There may be
// no such files.
func embedAll(wasm, manifest []byte, dir string) ([]byte, error) {
	wasm, err := spec.Embed(wasm, manifest)
	if err != nil {
		return nil, err
	}
	var t spec.Texts
	for file, text := range map[string]*string{readmeFile: &t.Readme, changelogFile: &t.Changelog} {
		if *text, err = readText(filepath.Join(dir, file)); err != nil {
			return nil, err
		}
	}
	return spec.EmbedTexts(wasm, t)
}

// readText reads a text for a module. It returns "" if there is no such file.
func readText(file string) (string, error) {
	text, err := readBounded(file, abi.MaxText, "shorten it")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !utf8.Valid(text):
		return "", fmt.Errorf("%s: is not UTF-8 (save it as UTF-8)", file)
	}
	return string(text), nil
}

// loadable returns an error if a host refuses the module, or cannot call a function of it. The
// interpreter reads all code, and takes the least time for it.
func loadable(ctx context.Context, s *spec.Spec) error {
	if err := unused(s); err != nil {
		return err
	}
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		return err
	}
	err = h.Compile(ctx, s, host.PluginConfig{Engine: host.EngineInterpreter})
	return errors.Join(err, h.Close(context.WithoutCancel(ctx)))
}

// unused returns an error if the module has a function for batches that a host cannot call.
func unused(s *spec.Spec) error {
	for _, o := range s.Operations {
		if o.Unused != "" {
			return fmt.Errorf("the module %s (export both, as the helper libraries do; the linker may have dropped them)", o.Unused)
		}
	}
	return nil
}

// prepare finds the folder and the toolchain.
func (j *job) prepare() error {
	j.options.Dir = cmp.Or(j.options.Dir, ".")
	var err error
	if j.dir, err = filepath.Abs(j.options.Dir); err != nil {
		return err
	}
	language := j.options.Language
	if language == "" {
		if language, err = Detect(j.options.Dir); err != nil {
			return err
		}
	}
	if j.toolchain, err = Lookup(language); err != nil {
		return err
	}
	programs, missing := j.toolchain.find(j.dir)
	if len(missing) > 0 {
		return j.toolchain.missingError(missing)
	}
	j.programs = programs
	return nil
}

// compile runs the commands and returns the module that they made.
func (j *job) compile(ctx context.Context) ([]byte, error) {
	if j.toolchain.build != nil {
		return j.toolchain.build(ctx, j)
	}
	commands, err := j.toolchain.commands(j)
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		if err := j.run(ctx, c); err != nil {
			return nil, err
		}
	}
	path := j.out
	if j.product != nil {
		if path, err = j.product(); err != nil {
			return nil, err
		}
	}
	wasm, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: wrote no module", filepath.Base(commands[len(commands)-1].Args[0]))
	}
	if err != nil || !j.options.Debug {
		return wasm, err
	}
	with, lerr := addLines(wasm, path+".map", j.dir, filepath.Join(j.work, "source"))
	if lerr == nil {
		return with, nil
	}
	// Without its lines the module is still good.
	_, err = fmt.Fprintf(cmp.Or[io.Writer](j.options.Messages, io.Discard), "stacks will not name lines of source: %v\n", lerr)
	return wasm, err
}

// run runs one command. It shows the command's output when the command fails or takes too long.
func (j *job) run(ctx context.Context, c Command) error {
	if j.options.Commands != nil {
		j.options.Commands(c)
	}
	limit := cmp.Or(j.options.Timeout, DefaultBuildTimeout)
	if done, err := j.runWarm(ctx, limit, c); done {
		return err
	}
	messages := j.options.Messages
	if messages == nil {
		messages = io.Discard
	}
	var kept output
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Args[0], c.Args[1:]...)
	killChildren(cmd)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = &kept, &kept
	if j.options.Verbose {
		both := io.MultiWriter(messages, &kept)
		cmd.Stdout, cmd.Stderr = both, both
	}
	cmd.WaitDelay = time.Second // child processes of a compiler may keep its output open
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if !j.options.Verbose {
		if _, werr := messages.Write(kept.text); werr != nil {
			return werr
		}
	}
	if limited.Err() != nil {
		return tooLong(c, limit, limited.Err())
	}
	err = fmt.Errorf("%s: %w (see its messages above)", c.Name(), err)
	if remedy := j.remedy(string(kept.text)); remedy != "" {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	return err
}

func tooLong(c Command, limit time.Duration, err error) error {
	return fmt.Errorf("%s: not done within %v: %w (see its messages above; plugin build --timeout gives it longer)", c.Name(), limit, err)
}

// output keeps the beginning of what a command writes.
type output struct{ text []byte }

// maxOutput bounds what is kept of a command's output: the first messages say what is wrong.
const maxOutput = 256 << 10

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.text = append(o.text, p[:min(len(p), maxOutput-len(o.text))]...)
	return len(p), nil
}

// program returns the path of one of the toolchain's programs.
func (j *job) program(name string) string { return j.programs[name] }

// output returns the path of the module to write. file is its name in a folder.
func (j *job) output(file string) string {
	out := j.options.Output
	if out == "" {
		return filepath.Join(j.folder(j.options.Dir), file)
	}
	info, err := os.Stat(out)
	if os.IsPathSeparator(out[len(out)-1]) || err == nil && info.IsDir() {
		return filepath.Join(out, file)
	}
	return out
}

// folder returns the folder for the module in a project. The modules of quick builds have one of
// their own, so that nobody ships them by mistake.
func (j *job) folder(project string) string {
	if j.leftOut() != "" {
		return filepath.Join(project, "build", "dev")
	}
	return filepath.Join(project, "build")
}

// leftOut names what this build leaves out, "" for nothing.
func (j *job) leftOut() string {
	if !j.options.Quick {
		return ""
	}
	return j.toolchain.quick
}

// unconnected adds to the error of a module without the exports of its manifest how the language
// makes them.
func (j *job) unconnected(err error) error {
	if remedy := j.remedy(err.Error()); remedy != "" {
		return fmt.Errorf("%w; %s", err, remedy)
	}
	if j.toolchain.connect == "" || !errors.Is(err, spec.ErrABIVersion) && !errors.Is(err, spec.ErrNoExport) {
		return err
	}
	return fmt.Errorf("%w; in %s: %s", err, j.toolchain.Title, j.toolchain.connect)
}

// remedy is what the language knows to do about what a tool said, "" for nothing.
func (j *job) remedy(said string) string {
	if j.toolchain.remedy == nil {
		return ""
	}
	return j.toolchain.remedy(said)
}

// withoutNew says in the error of a build which module of an earlier build is still there: it stays until
// there is a new one.
func (j *job) withoutNew(name string, err error) error {
	path := j.output(name + ".wasm")
	if info, serr := os.Stat(path); serr != nil || !info.Mode().IsRegular() {
		return err
	}
	return fmt.Errorf("%w; %s is of an earlier build", err, path)
}

// source returns the folder to build in. This is the project if it has a copy of the helper
// library, and otherwise a copy of the project with the library added.
func (j *job) source() (string, error) {
	if info, err := os.Stat(filepath.Join(j.dir, helperDir)); err == nil && info.IsDir() {
		return j.dir, nil
	}
	staged := filepath.Join(j.work, "source")
	if err := os.CopyFS(staged, sourceFS{os.DirFS(j.dir)}); err != nil {
		return "", err
	}
	return staged, writeHelper(j.toolchain, filepath.Join(staged, helperDir))
}

// sourceFS is a project without the output of earlier builds. It replaces links to files by
// the files, because a relative link would lead elsewhere from the copy.
type sourceFS struct{ fs.FS }

func (s sourceFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	for i, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if info, err := fs.Stat(s.FS, path.Join(name, e.Name())); err == nil && info.Mode().IsRegular() {
			entries[i] = fs.FileInfoToDirEntry(info)
		}
	}
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && slices.Contains([]string{"build", "target", "node_modules", ".git", ".venv", "__pycache__"}, e.Name())
	}), err
}

// write writes the module and, on request, the manifest next to it. A reader finds either
// the old module or the new one, never a part.
func (j *job) write(path string, wasm, manifest []byte) error {
	dir := filepath.Dir(path)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = replaceFile(path, wasm)
	}
	switch {
	case errors.Is(err, fs.ErrPermission) && j.options.Output == "":
		return fmt.Errorf("%w (name a file in another folder with -o)", err)
	case err != nil:
		return err
	}
	if !j.options.KeepManifest {
		return nil
	}
	return replaceFile(filepath.Join(dir, ManifestFile), manifest)
}

// replaceFile replaces a file. If path is not a regular file, such as a device, it writes to path
// itself.
func replaceFile(path string, data []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o644)
	}
	return atomicfile.Write(path, 0o644, data)
}
