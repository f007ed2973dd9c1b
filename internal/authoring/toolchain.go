package authoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrMissing means that a program that a language needs is not installed.
	ErrMissing = errors.New("not installed")
	// ErrLanguage means that the language of a project is unknown.
	ErrLanguage = errors.New("unknown language")
)

// Toolchain says how to build plugins of one language.
type Toolchain struct {
	// Language is the name on the command line, and Title the name as people write it.
	Language, Title string
	// Marks are the names of files that identify a project of the language; one of them
	// is enough. They may be patterns of filepath.Match.
	Marks []string
	// Programs are the programs that the language needs.
	Programs []Program
	// helper is the folder of the helper library in package sdk, "" if the
	// language has none.
	helper string
	// templates is another language whose templates to use, "" for the language itself.
	templates string
	// quick names what a quick build leaves out, "" if it is the same as any other.
	quick string
	// connect says how the source makes a function an operation, as a remedy if none is one.
	connect string
	// remedy says what to do about what a compiler or a module's reader said, "" if it does not know.
	// nil: it never knows.
	remedy func(said string) string
	// commands returns the commands that build a module from a project.
	commands func(*job) ([]Command, error)
	// build, if not nil, builds the module in place of commands.
	build func(context.Context, *job) ([]byte, error)
}

// Program is an executable that a toolchain needs.
type Program struct {
	// Name is the name of the program in messages.
	Name string
	// Executables are the possible file names, the best one first.
	Executables []string
	// Get says in one sentence how to get it.
	Get string
	// works, if not nil, returns why an executable is not suitable, nil if it is.
	works func(path string) error
	// worksIn is works for a program that can suit some projects only. dir is the folder of one, or "".
	worksIn func(path, dir string) error
}

// Command is one command of a build.
type Command struct {
	// Args are the program's path and its arguments.
	Args []string
	// Env are variables in addition to those of the process, as KEY=value.
	Env []string
	// Dir is the working directory.
	Dir string
	// warm, if not nil, returns the command of a process that a Warm keeps, and the arguments to send to it.
	// The error wraps errWarm if there is none.
	warm func() (process, args []string, err error)
}

// Name returns the program and its sub-command, if it has one, for messages.
func (c Command) Name() string {
	name := filepath.Base(c.Args[0])
	if len(c.Args) > 1 && !strings.ContainsAny(c.Args[1], "-./=") {
		name += " " + c.Args[1]
	}
	return name
}

// String returns the command in the syntax of a shell.
func (c Command) String() string {
	words := slices.Concat(c.Env, c.Args)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word if a shell would otherwise split or change it.
func shellWord(w string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%") == "" {
		return w
	}
	if key, value, ok := strings.Cut(w, "="); ok && strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
		return key + "=" + shellWord(value)
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Missing returns the programs that are not installed. dir is the folder of a project, or
// "".
func (t *Toolchain) Missing(dir string) []Program {
	_, missing := t.find(dir)
	return missing
}

// find returns the paths of the programs by name, and the programs that are not installed.
func (t *Toolchain) find(dir string) (paths map[string]string, missing []Program) {
	paths = map[string]string{}
	for _, p := range t.Programs {
		path, err := p.find(dir)
		if err != nil {
			p.Get = err.Error() + "; " + p.Get
		}
		if path == "" {
			missing = append(missing, p)
		}
		paths[p.Name] = path
	}
	return paths, missing
}

// find returns the path of the program, or "" if it is not installed. The error says why an
// executable of its name does not do, nil if there is none.
func (p Program) find(dir string) (string, error) {
	var unsuitable error
	for _, name := range p.Executables {
		for _, file := range []string{
			filepath.Join(dir, "node_modules", ".bin", name), filepath.Join(dir, ".venv", "bin", name), filepath.Join(dir, ".venv", "Scripts", name), name,
		} {
			path, err := exec.LookPath(file)
			if err != nil {
				continue
			}
			if err = p.suitable(path, dir); err == nil {
				return path, nil
			}
			unsuitable = cmp.Or(unsuitable, err)
		}
	}
	return "", unsuitable
}

// probeTime is how long a program may take to say what it can do. Tests shorten it.
var probeTime = 10 * time.Second

// probe returns what a program prints on its standard output.
func probe(path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	killChildren(cmd)
	cmd.WaitDelay = time.Second
	var printed output
	cmd.Stdout = &printed
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("not done within %v", probeTime)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", path, args[0], err)
	}
	return string(printed.text), nil
}

// known holds the paths of executables that work, so that each is tried once: a build looks for a
// program several times.
var known sync.Map

// suitable returns nil if an executable works, and else why it does not.
func (p Program) suitable(path, dir string) (err error) {
	key := path
	switch {
	case p.works == nil && p.worksIn == nil:
		return nil
	case p.worksIn != nil:
		key += "\x00" + dir
	}
	if _, ok := known.Load(key); ok {
		return nil
	}
	if p.worksIn != nil {
		err = p.worksIn(path, dir)
	} else {
		err = p.works(path)
	}
	if err == nil {
		known.Store(key, nil)
	}
	return err
}

// missingError names the missing programs and says how to get them, on one line.
func (t *Toolchain) missingError(missing []Program) error {
	names, ways := make([]string, len(missing)), make([]string, len(missing))
	for i, p := range missing {
		names[i], ways[i] = p.Name, p.Get
	}
	return fmt.Errorf("%s: %s: %w (%s; in the repository of anchor-host: tools/toolchains/%s.sh)",
		t.Title, strings.Join(names, " and "), ErrMissing, strings.Join(ways, "; "), t.Language)
}

// DefaultBuildTimeout is how long a command of a toolchain may take. A first build may have to
// fetch and compile libraries.
const DefaultBuildTimeout = 15 * time.Minute

// BuildOptions say what to build. The zero value builds the project in the
// current folder.
type BuildOptions struct {
	// Dir is the folder of the project. Empty: the current one.
	Dir string
	// Output is the module to write, or a folder for it. It is a folder if it exists as
	// one or ends in a slash; the module in it is <name>.wasm. Empty means build in Dir.
	Output string
	// Language is the language of the project. Empty means the one that Detect finds.
	Language string
	// Debug keeps the names of functions in the module, so that call stacks show them.
	Debug bool
	// Quick leaves out what takes long and makes the module smaller or faster. Where that makes a
	// difference, the module is in build/dev unless Output says otherwise.
	Quick bool
	// Warm, if not nil, keeps a compiler running for the next build.
	Warm *Warm
	// KeepManifest also writes plugin.yaml into the folder of Output.
	KeepManifest bool
	// Commands receives each command before it runs. It may be nil.
	Commands func(Command)
	// Timeout bounds each command. 0 means DefaultBuildTimeout.
	Timeout time.Duration
	// Messages receives the output of the toolchain: at once when Verbose is set,
	// otherwise only after a failure. nil discards it.
	Messages io.Writer
	Verbose  bool
}

// job is the state of one build.
type job struct {
	options   BuildOptions
	toolchain *Toolchain
	// programs are the paths of the toolchain's programs by name.
	programs map[string]string
	manifest *manifest.Manifest
	// dir is the absolute path of the project's folder, and work a temporary folder.
	dir, work string
	// out is the path to which commands write the module. If they set product, the module
	// is at the path that product returns afterwards.
	out     string
	product func() (string, error)
}
