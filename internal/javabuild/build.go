// Package javabuild makes plugins of Java projects with TeaVM, which compiles the classes that a plugin reaches.
// Maven finds TeaVM and the libraries of a project once for each pom.xml; later builds start Java alone.
package javabuild

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/atomicfile"
)

// Version is the version of TeaVM that this package works with, the last one that makes modules with a
// memory of their own. Later ones need garbage collection by the engine.
const Version = "0.13.1"

// OldestJava is the oldest release of Java that compiles plugins.
const OldestJava = 17

// Main is the class of the program that builds. Its arguments follow; without any it stays, and builds for each
// line of its standard input.
const Main = "anchor.Build"

//go:embed tool/anchor/*.java
var tool embed.FS

// ErrSource means that a project cannot become a plugin.
var ErrSource = errors.New("cannot be a plugin")

// Options say what to build.
type Options struct {
	// Dir is the folder of the project, Work an empty folder for files of the build.
	Dir, Work string
	// Cache is the folder that keeps class paths and the compiled program of the build.
	Cache string
	// Javac is the compiler of a JDK, Maven the program mvn.
	Javac, Maven string
	// Run runs a command in a folder.
	Run func(dir string, args ...string) error
	// Operations are those of the manifest.
	Operations []string
	// Memory is how many bytes an instance may have. What is not needed for other things is for objects.
	Memory int64
	// Quick makes a larger and slower module in less time. Debug keeps the names of functions.
	Quick, Debug bool
}

// Build returns the module of a project, without its manifest. An error about the project wraps ErrSource.
func Build(o Options) ([]byte, error) {
	heap, err := heapFor(o.Memory)
	if err != nil {
		return nil, err
	}
	class, err := o.pluginClass()
	if err != nil {
		return nil, err
	}
	path, err := o.classPath()
	if err != nil {
		return nil, err
	}
	program, err := o.program(path)
	if err != nil {
		return nil, err
	}
	if err := o.exports(class); err != nil {
		return nil, err
	}
	level := "full"
	if o.Quick {
		level = "quick"
	}
	args := []string{
		o.java(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Danchor.plugin=" + class,
		"-cp", program + string(filepath.ListSeparator) + path,
		Main, o.Dir, o.Work, program + string(filepath.ListSeparator) + path, level, strconv.Itoa(heap),
	}
	for _, folder := range []string{filepath.Join(o.Dir, sources), filepath.Join(o.Dir, "anchor"), filepath.Join(o.Work, "generated")} {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			args = append(args, folder)
		}
	}
	if err := o.Run(o.Dir, args...); err != nil {
		return nil, err
	}
	module, err := os.ReadFile(filepath.Join(o.Work, "plugin.wasm"))
	if err != nil {
		return nil, err
	}
	return trim(module, o.Debug)
}

// The memory of an instance beside the heap: what the program and its stack have, and per byte of the heap
// what the collector notes of it (a sixteenth and three bytes for each 1,024).
const (
	besideHeap = 2 << 20
	leastHeap  = 2 << 20
	mostHeap   = 1 << 30
)

// heapFor returns the bytes of the heap in a memory.
func heapFor(memory int64) (int, error) {
	heap := (memory - besideHeap) / 69 * 64 &^ 1023
	if heap < leastHeap {
		return 0, fmt.Errorf("plugin.yaml: limits.memory: %w: Java needs 5MiB or more", ErrSource)
	}
	return int(min(heap, mostHeap)), nil
}

const sources = "src/main/java"

// pluginClass returns the name of the class Plugin, with its package.
func (o *Options) pluginClass() (string, error) {
	var found []string
	root := filepath.Join(o.Dir, filepath.FromSlash(sources))
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && e.Name() == "Plugin.java" {
			name, rerr := filepath.Rel(root, file)
			found = append(found, strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(name), ".java"), "/", "."))
			err = rerr
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s: %w: it has %d files Plugin.java, and needs one", sources, ErrSource, len(found))
	}
	for part := range strings.SplitSeq(found[0], ".") {
		if !identifier(part) {
			return "", fmt.Errorf("%s: %w: %q is no name of a package", sources, ErrSource, part)
		}
	}
	return found[0], nil
}

func identifier(name string) bool {
	for i, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// exports writes the class that has the functions for the host. It is in no package, and so has the
// plugin by its whole name.
func (o *Options) exports(class string) error {
	var b strings.Builder
	if i := strings.LastIndexByte(class, '.'); i >= 0 {
		fmt.Fprintf(&b, "package %s;\n\n", class[:i])
	}
	b.WriteString("final class AnchorExports {\n    public static void main(String[] args) {\n    }\n\n" +
		"    @org.teavm.interop.Export(name = \"_initialize\")\n    public static void initialize() {\n        io.anchorhost.Guest.start(AnchorExports::load);\n    }\n\n" +
		"    static void load() {\n    }\n\n    @org.teavm.interop.Export(name = \"anchor_abi_1\")\n    public static void abi() {\n    }\n")
	for _, operation := range slices.Sorted(slices.Values(o.Operations)) {
		call := "run"
		if operation == "init" || operation == "observe" {
			call = "tell"
		}
		fmt.Fprintf(&b, "\n    @org.teavm.interop.Export(name = \"anchor_%s\")\n    public static int %s() {\n        return io.anchorhost.Guest.%s(Plugin::%[2]s);\n    }\n",
			operation, Method(operation), call)
	}
	b.WriteString("}\n")
	dir := filepath.Join(o.Work, "generated")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "AnchorExports.java"), []byte(b.String()), 0o600)
}

// Method returns the method of the class Plugin for an operation: transformQuery for transform_query.
func Method(operation string) string {
	words := strings.Split(operation, "_")
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	return strings.Join(words, "")
}

// java returns the program that belongs to the compiler.
func (o *Options) java() string {
	if javac, err := filepath.EvalSymlinks(o.Javac); err == nil {
		java := filepath.Join(filepath.Dir(javac), strings.Replace(filepath.Base(javac), "javac", "java", 1))
		if _, err := os.Stat(java); err == nil {
			return java
		}
	}
	return "java"
}

// key returns the name of a file that depends on some texts.
func key(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d %s\n", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// classPath returns the class path of the project, which Maven finds: it has TeaVM, too.
func (o *Options) classPath() (string, error) {
	pom, err := os.ReadFile(filepath.Join(o.Dir, "pom.xml"))
	if err != nil {
		return "", err
	}
	kept := filepath.Join(o.Cache, key("path", Version, string(pom)))
	if data, err := os.ReadFile(kept); err == nil && exist(string(data)) {
		return string(data), nil
	}
	found := filepath.Join(o.Work, "classpath.txt")
	if err := o.Run(o.Dir, o.Maven, "-B", "-q", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath",
		"-DincludeScope=compile", "-Dmdep.outputFile="+found); err != nil {
		return "", fmt.Errorf("pom.xml: find its libraries (the first time, with a network): %w", err)
	}
	data, err := os.ReadFile(found)
	if err != nil {
		return "", err
	}
	path := strings.TrimSpace(string(data))
	for _, artifact := range []string{"teavm-tooling", "teavm-classlib"} {
		if !strings.Contains(path, artifact+"-"+Version+".jar") {
			return "", fmt.Errorf("pom.xml: %w: it needs the dependency org.teavm:%s:%s with scope provided", ErrSource, artifact, Version)
		}
	}
	return path, o.keep(kept, []byte(path))
}

// exist reports whether all files of a class path are there.
func exist(path string) bool {
	for _, file := range filepath.SplitList(path) {
		if _, err := os.Stat(file); err != nil {
			return false
		}
	}
	return path != ""
}

// mostKept is how many class paths a cache keeps.
const mostKept = 200

func (o *Options) keep(file string, data []byte) error {
	if err := os.MkdirAll(o.Cache, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(o.Cache)
	if err != nil {
		return err
	}
	for i := 0; len(entries)-i > mostKept; i++ { // they are quickly found again
		if err := os.RemoveAll(filepath.Join(o.Cache, entries[i].Name())); err != nil {
			return err
		}
	}
	return atomicfile.Write(file, 0o600, data)
}

// program returns the folder with the classes of the program that builds, compiled once.
func (o *Options) program(path string) (string, error) {
	names, err := fs.Glob(tool, "tool/anchor/*.java")
	if err != nil {
		return "", err
	}
	texts := []string{"program", Version}
	var files []string
	for _, name := range names {
		text, err := tool.ReadFile(name)
		if err != nil {
			return "", err
		}
		file := filepath.Join(o.Work, filepath.Base(name))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return "", err
		}
		files, texts = append(files, file), append(texts, string(text))
	}
	kept := filepath.Join(o.Cache, "program-"+key(texts...))
	if _, err := os.Stat(filepath.Join(kept, "anchor", "Build.class")); err == nil {
		return kept, nil
	}
	made := filepath.Join(o.Work, "program")
	args := append([]string{o.Javac, "-proc:none", "--release", strconv.Itoa(OldestJava), "-d", made, "-cp", path}, files...)
	if err := o.Run(o.Work, args...); err != nil {
		return "", err
	}
	services := filepath.Join(made, "META-INF", "services")
	if err := os.MkdirAll(services, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(services, "org.teavm.vm.spi.TeaVMPlugin"), []byte("anchor.Plugin\n"), 0o600); err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Cache, 0o700); err != nil {
		return "", err
	}
	if err := os.CopyFS(kept+".new", os.DirFS(made)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := os.Rename(kept+".new", kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, nil //nolint:nilerr // another build keeps it at the same time
	}
	return kept, nil
}
