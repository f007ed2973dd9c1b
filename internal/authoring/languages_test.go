package authoring

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// TestMain puts the launchers that tools/toolchains installs into PATH.
func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	bin, err := filepath.Abs("../../build/_toolchains/bin")
	if err == nil && exists(bin) {
		err = os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// languagesVar names the languages whose templates are built: "all", or some with
// commas between them. Without it only what builds fast is.
const languagesVar = "ANCHOR_LANGUAGES"

// wanted are the languages whose templates this run builds, and whether somebody
// named them.
func wanted() (languages []string, named bool) {
	switch v := os.Getenv(languagesVar); v {
	case "":
		return []string{"go"}, false
	case "all":
		return Languages(), true
	default:
		return strings.Split(v, ","), true
	}
}

// Every template builds, passes its own tests and keeps to the contract. A
// toolchain that is not there is a reason to skip, but in CI a failure for a
// language that was named.
func TestTemplates(t *testing.T) {
	languages, named := wanted()
	costs := newMatrix(t)
	for _, language := range languages {
		toolchain, err := Lookup(language)
		if err != nil {
			t.Fatalf("%s: %v", languagesVar, err)
		}
		kinds, err := kindsOf(language)
		if err != nil {
			t.Fatal(err)
		}
		if !named {
			kinds = []string{"filter"}
		}
		if language == "typescript" && os.Getenv("ANCHOR_LONG_TESTS") == "" { // it has the templates of JavaScript
			kinds = []string{"filter", "provide"}
		}
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == string(abi.OpEstimateTokens) }) // part of provide
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if missing := toolchain.Missing(""); len(missing) > 0 {
				if err := toolchain.missingError(missing); named && os.Getenv("CI") != "" {
					t.Fatal(err)
				} else {
					t.Skip(err)
				}
			}
			// The projects follow each other in one folder, so that cargo compiles the helper library once.
			dir := filepath.Join(t.TempDir(), "project")
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					renew(t, dir, Project{Name: "my-plugin", Language: language, Kind: kind})
					if language != "java" || kind == "filter" || kind == "provide" || os.Getenv("ANCHOR_LONG_TESTS") != "" { // Maven takes longer than all else
						runOwnTests(t, dir, language)
					}
					costs.add(t, language, kind, testTemplate(t, dir, buildTemplate(t, dir)))
				})
			}
		})
	}
}

// renew writes a project in the place of another one, and keeps what a compiler left there.
func renew(t *testing.T, dir string, p Project) {
	t.Helper()
	old, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range old {
		if base := filepath.Base(name); base != "target" && base != ".zig-cache" {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	p.Dir = filepath.Join(t.TempDir(), "new")
	if _, nerr := New(p); err != nil || nerr != nil {
		t.Fatal(err, nerr)
	}
	if err := os.CopyFS(dir, os.DirFS(p.Dir)); err != nil {
		t.Fatal(err)
	}
}

// ownTests are the commands that run the tests of a project, for the languages
// whose templates have tests.
var ownTests = map[string][]string{
	"go":     {"go", "test", "-vet=all", "."},
	"tinygo": {"go", "test", "-vet=all", "."},
	"rust":   {"cargo", "test", "--quiet"},
	"js":     {"node", "--test"},
	// The tests import plugin.ts, which Node.js reads since 22.6. The types are checked everywhere.
	"typescript": {"sh", "-c", "tsc -p . && { ! node --experimental-strip-types -e 0 2>build-test || node --experimental-strip-types --test; }"},
	"python":     {"python3", "-B", "-m", "unittest", "-q"},
	"java":       {"mvn", "-q", "-B", "test"},
	"ts":         {"node", "anchor/test.mjs"},
	"c":          {"sh", "-c", "cc -Ianchor -o build-test plugin_test.c && ./build-test"},
	"cpp":        {"sh", "-c", "c++ -std=c++20 -Ianchor -o build-test plugin_test.cpp && ./build-test"},
	"zig":        {"zig", "test", "plugin.zig"},
}

// runOwnTests runs the tests of a project.
func runOwnTests(t *testing.T, dir, language string) {
	t.Helper()
	test := ownTests[language]
	if test != nil && language != "tinygo" { // the tests of Go, run there
		cmd := exec.CommandContext(t.Context(), test[0], test[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", test, err, out)
		}
	}
}

// buildTemplate builds a project.
func buildTemplate(t *testing.T, dir string) *Built {
	t.Helper()
	built, err := Build(t.Context(), BuildOptions{Dir: dir, Messages: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Spec.Warnings) > 0 {
		t.Errorf("warnings: %v", built.Spec.Warnings)
	}
	return built
}

// testTemplate runs the whole conformance kit and the cases of a project, and returns the fuel of
// the call that used the most.
func testTemplate(t *testing.T, dir string, built *Built) int64 {
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	target := &metered{Target: conform.New(h, built.Spec, host.PluginConfig{})}
	report, err := conformance.Run(t.Context(), target, conformance.Options{Own: templateCases(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Results {
		if r.Verdict == conformance.Fail {
			t.Errorf("%s, %s, lane %s: %s: %s", r.Case, r.Operation, r.Lane, r.Rule, r.Detail)
		}
	}
	if report.Passed == 0 {
		t.Error("no case was run")
	}
	return target.most.Load()
}

// templateCases are the author's cases of a project.
func templateCases(t *testing.T, dir string) []conformance.OwnCase {
	t.Helper()
	file := filepath.Join(dir, "tests", "cases.json")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := conformance.ParseOwnCases(file, b)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}
