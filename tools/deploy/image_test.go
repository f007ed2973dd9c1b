package deploy

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// user is the user of the image, and its group.
const user = 65532

// site is a folder with all that a host of the manifests gets.
type site struct {
	program string // the command, absolute
	site    string
}

// prepare makes a site: the configuration of the ConfigMap, keys, and the plugins that init writes.
func prepare(t *testing.T) *site {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("want root, for a network and folders of its own")
		}
		t.Skip("needs root, for a network and folders of its own")
	}
	for _, p := range []string{"unshare", "ip", "curl", "pgrep"} {
		need(t, p)
	}
	program, err := filepath.Abs("../../build/anchor-host")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "anchor-host-site-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // for the user of the host
		t.Fatal(err)
	}
	// The user of the host may have no way into the folder of this checkout.
	h := &site{program: filepath.Join(dir, "anchor-host"), site: dir}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatalf("%v (make test-deploy builds it)", err)
	}
	if err := os.WriteFile(h.program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"etc/anchor-host", "etc/anchor-host-keys", "data", "init"} {
		if err := os.MkdirAll(filepath.Join(h.site, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	init := exec.Command(h.program, "init")
	init.Dir = filepath.Join(h.site, "init")
	h.run(t, init)
	if err := os.Rename(filepath.Join(h.site, "init", "plugins"), filepath.Join(h.site, "plugins")); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(h.site, "etc/anchor-host-keys/keys.yaml")
	add := exec.Command(h.program, "keys", "add", "--file", keys, "--tenant", "acme", "--scopes", "build,memory:read,memory:write,admin")
	h.write(t, "key", strings.TrimSpace(h.run(t, add)))
	text := readSet(t).config.Data["anchor.yaml"]
	// Outside of an image, the folders of the pod are below the site.
	text = regexp.MustCompile(`(dir: |keys: )/`).ReplaceAllString(text, "${1}"+h.site+"/")
	h.write(t, "etc/anchor-host/anchor.yaml", text)
	return h
}

func (h *site) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.site, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command and returns what it prints on stdout. It is killed after some minutes.
func (h *site) run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	bounded := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	bounded.Dir = cmd.Dir
	bounded.Env = append(os.Environ(), "HOME="+h.site, "ANCHOR_HOST_STORE_PATH="+h.site+"/data/store.db", "ANCHOR_HOST_PLUGINS_CACHE_DIR="+h.site+"/data/cache",
		"BUILDAH_ISOLATION=chroot")
	bounded.Env = append(bounded.Env, cmd.Env...)
	var stderr strings.Builder
	bounded.Stderr = &stderr
	out, err := bounded.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.String())
	}
	return string(out)
}

// The image of the recipe, with plugins as the README adds them, runs with a root that cannot be
// written, as the user of the recipe, and serves.
func TestImage(t *testing.T) {
	buildah := need(t, "buildah")
	h := prepare(t)
	h.write(t, "etc/anchor-host/anchor.yaml", readSet(t).config.Data["anchor.yaml"])
	// A Secret with mode 0440 and fsGroup.
	keys := filepath.Join(h.site, "etc/anchor-host-keys/keys.yaml")
	if err := errors.Join(os.Chown(keys, 0, user), os.Chmod(keys, 0o440), os.Chown(filepath.Join(h.site, "data"), user, user)); err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	image := func(args ...string) string {
		// vfs needs no support of the file system.
		all := append([]string{"--root", store + "/root", "--runroot", store + "/run", "--storage-driver", "vfs"}, args...)
		return strings.TrimSpace(h.run(t, exec.Command(buildah, all...)))
	}
	image("build", "-q", "-f", pages+"/Containerfile", "-t", "anchor-host:test", "../../build/image")
	h.write(t, "Containerfile", "FROM anchor-host:test\nCOPY plugins /plugins\n")
	image("build", "-q", "-f", h.site+"/Containerfile", "-t", "mine:test", h.site)
	made := image("from", "mine:test")
	root := image("mount", made)
	files := h.run(t, exec.Command("find", root, "-type", "f", "-not", "-path", "*/plugins/*"))
	if n := strings.Count(files, "\n"); n != 2 {
		t.Errorf("the image has %d files, want the program and the certificates:\n%s", n, files)
	}
	inside := exec.Command("unshare", "--net", "--mount", "bash", "enter.sh", root, h.site)
	inside.Env = []string{"ROOTED=1"}
	out := h.run(t, inside)
	t.Log(out)
	for _, want := range []string{
		"ready: 200\n", "live: 200\n", "without a key: 401\n", `"content":"the night train leaves at nine"`, "fact: 201\n", "reload: 200\n",
		"/data/backup.db", "root cannot be written\n", "uid 65532\n", "the end: 0\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
}
