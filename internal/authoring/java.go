package authoring

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/cachedir"
	"github.com/anchor-host/anchor-host/internal/javabuild"
	"github.com/anchor-host/anchor-host/internal/units"
)

var javaToolchain = &Toolchain{
	Language: "java", Title: "Java", Marks: []string{"pom.xml"}, helper: "pdk-java",
	connect: "write public static Changes filter(Request request) in the class Plugin",
	quick:   "optimization",
	Programs: []Program{
		{
			Name: "javac", Executables: []string{"javac"}, works: modernJava,
			Get: fmt.Sprintf("get a JDK of Java %d or newer; on Debian: apt-get install openjdk-17-jdk-headless; on macOS: brew install openjdk", javabuild.OldestJava),
		},
		{Name: "mvn", Executables: []string{"mvn"}, Get: "on Debian: apt-get install maven; on macOS: brew install maven"},
	},
	remedy: endlessRemedy, build: buildJava,
}

// endlessRemedy says what to do about a module that TeaVM made wrong.
func endlessRemedy(said string) string {
	if strings.Contains(said, "not enough results") {
		return "a method that returns a value needs an end: give while (true) a condition, or a break"
	}
	return ""
}

// modernJava returns an error if a compiler is too old. The file release of a JDK is read in place of a
// question to the program, which takes as long as starting Java.
func modernJava(javac string) error {
	version := releaseOf(javac)
	if version == "" {
		printed, err := probe(javac, "-version")
		if err != nil {
			return err
		}
		version = strings.TrimPrefix(strings.TrimSpace(printed), "javac ")
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < javabuild.OldestJava {
		return fmt.Errorf("%s is of Java %s, and plugins need %d or newer", javac, version, javabuild.OldestJava)
	}
	return nil
}

// releaseOf returns the version of the JDK of a compiler as its file release has it, "" if there is none.
func releaseOf(javac string) string {
	real, err := filepath.EvalSymlinks(javac)
	if err != nil {
		return ""
	}
	file, err := os.Open(filepath.Join(filepath.Dir(real), "..", "release"))
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if version, ok := strings.CutPrefix(lines.Text(), "JAVA_VERSION="); ok {
			return strings.Trim(version, `"`)
		}
	}
	return ""
}

// buildJava builds a Java project in a copy that has the helper library, if it has none.
func buildJava(ctx context.Context, j *job) ([]byte, error) {
	source, err := j.source()
	if err != nil {
		return nil, err
	}
	cache, err := cachedir.Folder(cachedir.Java)
	if err != nil {
		return nil, err
	}
	memory, err := units.ParseSize(cmp.Or(j.manifest.Limits.Memory, "64MiB"))
	if err != nil {
		return nil, err
	}
	o := javabuild.Options{
		Dir: source, Work: j.work, Cache: cache, Javac: j.program("javac"), Maven: j.program("mvn"), Memory: memory,
		Quick: j.leftOut() != "", Debug: j.options.Debug,
		Run: func(dir string, args ...string) error {
			c := Command{Args: args, Dir: dir}
			if i := slices.Index(args, javabuild.Main) + 1; i > 0 {
				c.warm = func() ([]string, []string, error) { return args[:i], args[i:], nil }
			}
			return j.run(ctx, c)
		},
	}
	o.Operations, _ = asked(j.manifest)
	return javabuild.Build(o)
}
