//go:build unix

package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { gitTimeout = time.Minute }

func identify(t *testing.T, dir string) Project {
	t.Helper()
	p, err := Identify(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// git runs git in a folder without anything that the machine configures.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	name, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command(name, append([]string{"-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever the path, the protocol or the worktree, a project is one.
func TestRemote(t *testing.T) {
	ids := map[string]bool{}
	for _, address := range []string{
		"git@github.com:Acme/shop.git", "https://github.com/acme/shop", "https://user:password@github.com:443/acme/shop.git/", "ssh://git@github.com/acme/shop.git", "git://github.com/acme/shop",
	} {
		dir := t.TempDir()
		git(t, dir, "init", "-q")
		git(t, dir, "remote", "add", "backup", "https://elsewhere.example/x.git")
		git(t, dir, "remote", "add", "origin", address)
		if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		p := identify(t, filepath.Join(dir, "a", "b"))
		if ids[p.ID] = true; p.By != ByRemote || p.Name != "shop" || filepath.Base(p.Root) != filepath.Base(dir) {
			t.Errorf("%s: %+v", address, p)
		}
	}
	if len(ids) != 1 {
		t.Errorf("%d projects, want 1", len(ids))
	}
}

func TestRootCommit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	if p := identify(t, dir); p.By != ByPath {
		t.Errorf("without a commit: %+v", p)
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "two")
	p := identify(t, dir)
	if p.By != ByCommit {
		t.Fatalf("%+v", p)
	}
	git(t, dir, "worktree", "add", "-q", "../tree")
	git(t, dir, "pack-refs", "--all")
	git(t, dir, "gc", "-q")
	tree := identify(t, filepath.Join(dir, "..", "tree"))
	if tree.ID != p.ID || tree.Root == p.Root || tree.Name != "tree" {
		t.Errorf("worktree: %+v, want the ID of %+v", tree, p)
	}
	moved := filepath.Join(filepath.Dir(dir), "moved")
	if err := os.RemoveAll(filepath.Join(dir, ".git", "logs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if m := identify(t, moved); m.ID != p.ID || m.By != ByCommit {
		t.Errorf("moved, without its log: %+v, want the ID of %+v", m, p)
	}
	git(t, filepath.Dir(moved), "clone", "-q", "--depth", "1", "file://"+moved, "shallow")
	shallow := filepath.Join(filepath.Dir(moved), "shallow")
	if s := identify(t, shallow); s.By != ByPath { // its first commit is not that of the project
		t.Errorf("shallow: %+v", s)
	}
}

// What is in .git may be anyone's: it is read within bounds, blocks nothing and runs nothing.
func TestHostile(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	for name, make := range map[string]func(dir string){
		"empty":              func(dir string) { _ = os.Mkdir(filepath.Join(dir, ".git"), 0o755) },
		"a file of anything": func(dir string) { file(t, filepath.Join(dir, ".git"), "hello") },
		"a circle":           func(dir string) { file(t, filepath.Join(dir, ".git"), "gitdir: .git") },
		"a pipe":             func(dir string) { _ = syscall.Mkfifo(filepath.Join(dir, ".git"), 0o644) },
		"a device":           func(dir string) { file(t, filepath.Join(dir, ".git"), "gitdir: /dev/zero") },
		"a huge config": func(dir string) {
			file(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main")
			file(t, filepath.Join(dir, ".git", "config"), strings.Repeat("x", 4<<20)+"\n[remote \"origin\"]\nurl = https://a.b/c\n")
		},
		"a pipe as config": func(dir string) {
			file(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main")
			_ = syscall.Mkfifo(filepath.Join(dir, ".git", "config"), 0o644)
			_ = os.MkdirAll(filepath.Join(dir, ".git", "logs"), 0o755)
			_ = syscall.Mkfifo(filepath.Join(dir, ".git", "logs", "HEAD"), 0o644)
		},
		"commands in the config": func(dir string) {
			git(t, dir, "init", "-q")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
			git(t, dir, "config", "core.fsmonitor", "touch "+mark)
			git(t, dir, "config", "core.pager", "touch "+mark)
			git(t, dir, "config", "core.sshCommand", "touch "+mark)
			_ = os.RemoveAll(filepath.Join(dir, ".git", "logs"))
		},
		"a partial clone that fetches with a command": func(dir string) {
			git(t, dir, "init", "-q")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
			git(t, dir, "commit", "-q", "--allow-empty", "-m", "two")
			logs, _ := os.ReadFile(filepath.Join(dir, ".git", "logs", "HEAD"))
			first := strings.Fields(string(logs))[1]
			_ = os.Remove(filepath.Join(dir, ".git", "objects", first[:2], first[2:]))
			_ = os.RemoveAll(filepath.Join(dir, ".git", "logs"))
			config, _ := os.ReadFile(filepath.Join(dir, ".git", "config"))
			file(t, filepath.Join(dir, ".git", "config"), strings.Replace(string(config), "repositoryformatversion = 0", "repositoryformatversion = 1", 1)+
				"[extensions]\npartialClone = x\n[remote  \"x\"]\npromisor = true\nurl = ext::touch "+mark+"\n[protocol \"ext\"]\nallow = always\n")
		},
	} {
		dir := t.TempDir()
		make(dir)
		p, err := Identify(t.Context(), dir)
		if err != nil || !strings.HasPrefix(p.ID, "p-") || len(p.ID) != 26 || p.By == ByRemote {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command of the repository ran")
	}
	if _, err := Identify(t.Context(), filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("a folder that is not there has a project")
	}
}

// Users of a host without a forge have repositories of the same name in their home folders.
func TestHomesAreApart(t *testing.T) {
	if a, b := normalize("ann@host.example:shop.git"), normalize("bob@host.example:shop.git"); a == b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := normalize("ann@host.example:/srv/shop.git"), normalize("ssh://bob@host.example/srv/shop"); a != b {
		t.Errorf("%q and %q", a, b)
	}
}

func FuzzRemotes(f *testing.F) {
	f.Add("[remote \"origin\"]\n\turl = git@h:a/b.git\n[include]\npath=x\n")
	f.Add("[remote \"")
	f.Add("url=://\n[remote \"a\"]url=\nurl = \"c:\\x\"\n")
	f.Fuzz(func(t *testing.T, config string) {
		for name, address := range remotes([]byte(config)) {
			if n := normalize(address); n != "" && (strings.Contains(n, "@") && !strings.Contains(address, "/") || strings.HasSuffix(n, "/")) {
				t.Errorf("%q: %q is %q", name, address, n)
			}
		}
	})
}
