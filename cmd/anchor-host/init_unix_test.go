//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The command that init prints leads into the folder, whatever its name is.
func TestInitPrintsAShellCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"a b", "it's", "-x", "$HOME", "a;b", "*", "~", "plain/in_er-1.0"} {
		code, _, stderr := run(t, "", "init", "--minimal", "--", folder)
		lines := strings.Split(stderr, "\n")
		if code != codeOK || len(lines) < 2 {
			t.Fatalf("%q: %d, %s", folder, code, stderr)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", lines[1]+" && pwd").Output()
		if want := filepath.Join(here, folder); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s leads to %q, want %q; %v", lines[1], out, want, err)
		}
	}
	if code, _, stderr := run(t, "", "init", "--minimal", ""); code != codeOK || strings.Contains(stderr, "cd ") {
		t.Errorf("empty: %d, %s", code, stderr)
	}
}

// An overwritten link is replaced, and what it led to stays.
func TestInitFollowsNoLinks(t *testing.T) {
	t.Chdir(write(t, map[string]string{"elsewhere/file": "mine", "site/x": "", "linked/x": ""}))
	for target, link := range map[string]string{"../elsewhere/file": "site/anchor.yaml", "../elsewhere": "linked/plugins"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := run(t, "", "init", "--force", "--minimal", "site"); code != codeOK {
		t.Fatalf("%d, %s", code, stderr)
	}
	if content, err := os.ReadFile("elsewhere/file"); err != nil || string(content) != "mine" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := os.Lstat("site/anchor.yaml"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	for _, args := range [][]string{{"init", "linked"}, {"init", "--force", "linked"}} {
		code, _, stderr := run(t, "", args...)
		if want := "anchor-host: linked/plugins: is a symbolic link, and init writes through none (move it away, or name another folder)\n"; code != codeFailure || stderr != want {
			t.Errorf("%v: %d, %q, want %q", args, code, stderr, want)
		}
	}
	if names := below(t, "elsewhere"); names != "file" {
		t.Errorf("elsewhere holds %s", names)
	}
}

// below returns the names in a folder.
func below(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// An init that fails leaves nothing behind, and says what to do.
func TestInitFailsWhole(t *testing.T) {
	t.Chdir(write(t, map[string]string{"afile": "", "site/sample-docs": "no folder", "dir/anchor.yaml/x": ""}))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"init", "afile"}, "afile/anchor.yaml: look for the file: not a directory (a part of the path is a file: name a folder)"},
		{[]string{"init", "site"}, "site/sample-docs/diagnosis.md: look for the file: not a directory (a part of the path is a file: name a folder)"},
		{[]string{"init", "--force", "dir"}, "dir/anchor.yaml: is a folder (move it away, or name another folder for init)"},
		{[]string{"init", "new/" + strings.Repeat("n", 300)}, ": file name too long (name another folder)"},
	} {
		code, stdout, stderr := run(t, "", tt.args...)
		if code != codeFailure || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: %d, %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
	if names := below(t, "."); names != "afile dir site" {
		t.Errorf("left behind: %s", names)
	}
}

// A message about a file that cannot be read names it once, and says what to do.
func TestUnreadableInput(t *testing.T) {
	t.Chdir(write(t, map[string]string{"folder/x": ""}))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"build", "--query-file", "folder"}, "read query: open folder: is a folder (name a file)"},
		{[]string{"build", "--items", "folder", "q"}, "read items: open folder: is a folder (name a file)"},
		{[]string{"build", "-c", "folder", "q"}, "read configuration: folder: is a folder (name the file, such as folder/anchor.yaml)"},
	} {
		if code, _, stderr := run(t, "", tt.args...); code != codeFailure || stderr != "anchor-host: "+tt.want+"\n" {
			t.Errorf("%v: %d, %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
	for _, name := range []string{"XDG_DATA_HOME", "HOME", "ANCHOR_HOST_STORE_PATH"} {
		t.Setenv(name, "")
	}
	want := "$HOME is not defined (name the file in store.path or --store, or set XDG_DATA_HOME)\n"
	if runtime.GOOS == "linux" {
		if code, _, stderr := run(t, "", "memory", "list"); code != codeFailure || !strings.HasSuffix(stderr, want) {
			t.Errorf("%d, %q, want %q", code, stderr, want)
		}
	}
}

// What the user gives with a build has no score, and is kept.
func TestSampleKeepsOwnItems(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, stderr := run(t, "", "init"); code != codeOK {
		t.Fatalf("%d, %s", code, stderr)
	}
	items := `[{"id": "mine", "content": "This is my own note.", "source": "user"}]`
	if err := os.WriteFile("items.json", []byte(items), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := run(t, "", "build", "--items", "items.json", sampleQuestion); code != codeOK || !strings.Contains(stdout, "This is my own note.") {
		t.Errorf("%d, %q, %s", code, stdout, stderr)
	}
}
