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
	"github.com/anchor-host/anchor-host/internal/testbuild"
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
	for place, language := range languages {
		toolchain, err := Lookup(language)
		if err != nil {
			t.Fatalf("%s: %v", languagesVar, err)
		}
		kinds, err := Kinds(language)
		if err != nil {
			t.Fatal(err)
		}
		if !named {
			kinds = []string{"filter"}
		}
		if (language == "tinygo" || language == "cpp") && os.Getenv("ANCHOR_LONG_TESTS") == "" { // they have the templates of Go and C
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
			for i, kind := range kinds {
				// The kit meets each kind in some languages, and each language in some kinds.
				kit := !named || kind == "filter" || (place+i)%3 == 0 || os.Getenv("ANCHOR_LONG_TESTS") != ""
				t.Run(kind, func(t *testing.T) {
					renew(t, dir, Project{Name: "my-plugin", Language: language, Kind: kind})
					built := buildTemplate(t, dir, language, !kit)
					if kit {
						testTemplate(t, dir, built, kind != "filter")
					}
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
	"ts":     {"node", "anchor/test.mjs"},
	"c":      {"sh", "-c", "cc -Ianchor -o build-test plugin_test.c && ./build-test"},
	"cpp":    {"sh", "-c", "c++ -std=c++20 -Ianchor -o build-test plugin_test.cpp && ./build-test"},
	"zig":    {"zig", "test", "plugin.zig"},
}

// buildTemplate runs the tests of a project, and builds it, as plugin dev does if quick is set.
func buildTemplate(t *testing.T, dir, language string, quick bool) *Built {
	t.Helper()
	if test := ownTests[language]; test != nil && language != "tinygo" { // the tests of Go, run there
		cmd := exec.CommandContext(t.Context(), test[0], test[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", test, err, out)
		}
	}
	built, err := Build(t.Context(), BuildOptions{Dir: dir, Quick: quick, Messages: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if len(built.Spec.Warnings) > 0 {
		t.Errorf("warnings: %v", built.Spec.Warnings)
	}
	return built
}

// testTemplate runs the conformance kit and the cases of a project. The many calls that measure
// memory say the same of all kinds of a language; sparing leaves them out.
func testTemplate(t *testing.T, dir string, built *Built, sparing bool) {
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	report, err := conformance.Run(t.Context(), conform.New(h, built.Spec, host.PluginConfig{}),
		conformance.Options{Short: true, Sparing: sparing, Own: templateCases(t, dir)})
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
