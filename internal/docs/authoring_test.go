package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// tools are the programs, besides Go, that the guide needs for a language.
var tools = map[string][]string{"go": nil, "rust": {"cargo"}, "c": {"clang", "wasm-ld"}}

// TestAuthoringCommands follows docs/authoring.md as a newcomer would, once for
// each of its languages. ANCHOR_LANGUAGES names those that must be there.
func TestAuthoringCommands(t *testing.T) {
	needPages(t)
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "authoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	for language, programs := range tools {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			script, commands := languageBlocks(string(text), language)
			if commands < 20 {
				t.Fatalf("found %d commands in sh blocks, want the documented ones", commands)
			}
			path := toolPath(t, language, programs)
			dir := clone(t)
			copyFile(t, testbuild.Command(t), filepath.Join(dir, "build", "anchor-host"), 0o755)
			out := runScript(t, dir, script, append(caches(t), "PATH="+path)...)
			wants := []string{"0 failed", "few words go", "Package flag", `"items_after": 1`, `{"keep":[1]}`}
			if language == "go" {
				wants = append(wants, "a term is explained once")
			}
			for _, want := range wants {
				if !strings.Contains(out, want) {
					t.Errorf("docs/authoring.md: the commands do not print %q\n%s", want, out)
				}
			}
		})
	}
}

// TestAuthoringLanguagePages makes, builds and tests a plugin in each language, as its page
// says.
func TestAuthoringLanguagePages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	for _, toolchain := range authoring.Toolchains {
		t.Run(toolchain.Language, func(t *testing.T) {
			page := languagePage(t, toolchain.Title)
			text, err := os.ReadFile(filepath.Join(root, "docs", "languages", page))
			if err != nil {
				t.Fatal(err)
			}
			wanted := strings.Split(os.Getenv("ANCHOR_LANGUAGES"), ",")
			if !slices.Contains(wanted, toolchain.Language) && !slices.Contains(wanted, "all") {
				t.Skipf("set ANCHOR_LANGUAGES=%s to run it", toolchain.Language)
			}
			script, commands := shellBlocks(string(text))
			if page != toolchain.Language+".md" || toolchain.Language == "tinygo" && commands == 0 {
				t.Skip("it has the commands of another language, and its templates have tests of their own")
			}
			if commands < 4 {
				t.Fatalf("found %d commands, want those that make, build and test a plugin", commands)
			}
			path := filepath.Dir(testbuild.Command(t)) + string(os.PathListSeparator) + toolPath(t, toolchain.Language, nil)
			if out := runScript(t, t.TempDir(), script, "PATH="+path); !strings.Contains(out, " 0 failed") {
				t.Errorf("the plugin's test is not green:\n%s", out)
			}
		})
	}
}

// languagePage returns the page that the table of languages names for one.
func languagePage(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "languages", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(title) + ` \|.*\(([a-z]+\.md)\) \|$`).FindSubmatch(text)
	if row == nil {
		t.Fatalf("docs/languages/README.md has no row for %s with a link to its page", title)
	}
	return string(row[1])
}

// toolPath returns the PATH on which the programs of a language are, or skips
// the test if they are not there and need not be.
func toolPath(t *testing.T, language string, programs []string) string {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "build", "_toolchains", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	wanted := strings.Split(os.Getenv("ANCHOR_LANGUAGES"), ",")
	if slices.Contains(wanted, language) || slices.Contains(wanted, "all") {
		return path
	}
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join(bin, p)); err != nil {
			t.Skipf("%s is not installed (run tools/toolchains/%s.sh, or set ANCHOR_LANGUAGES=%s to have it installed)", p, language, language)
		}
	}
	return path
}

// languageBlocks joins the ```sh blocks but those for other languages.
func languageBlocks(text, language string) (script string, commands int) {
	var b strings.Builder
	inside, heredoc, indent, next := false, false, "", language
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "<!-- for: "):
			next = strings.TrimSuffix(strings.TrimPrefix(trimmed, "<!-- for: "), " -->")
		case !inside && trimmed == "```sh":
			inside, indent = true, line[:strings.Index(line, "`")]
		case inside && trimmed == "```":
			inside, next = false, language
		case inside && next == language:
			line = strings.TrimPrefix(line, indent)
			b.WriteString(line)
			if !heredoc && trimmed != "" {
				commands++
			}
			heredoc = strings.Contains(line, "<<'EOF'") || heredoc && line != "EOF\n"
		}
	}
	return b.String(), commands
}
