package host_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"

	"github.com/anchor-host/anchor-host/tokens"
)

// emptyImages is a cache without images, though with the machine code of the guest "counting":
// compiling is not what the tests of images are about.
func emptyImages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	began := time.Now().Add(-time.Second) // file systems may have coarse clocks
	loadCounting(t, newHost(t, host.Config{}), host.PluginConfig{})
	shared := testbuild.CacheDir(t)
	for _, file := range cacheFiles(t, shared) {
		entry := filepath.Dir(file)
		if info, err := os.Stat(entry); err != nil || info.ModTime().Before(began) {
			continue // it was not just used
		}
		to := filepath.Join(dir, strings.TrimPrefix(file, shared))
		content, err := os.ReadFile(file)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// imageFiles are the images on disk.
func imageFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "images", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// started loads the guest "counting" in a host of its own, as another process
// does, and returns whether init ran, 0 or 1 times, and what a call found.
func started(t *testing.T, hc host.Config, pc host.PluginConfig) (inits int, f found) {
	t.Helper()
	return startedAt(t, slog.LevelInfo, hc, pc)
}

// startedAt is started with a level of the log.
func startedAt(t *testing.T, level slog.Level, hc host.Config, pc host.PluginConfig) (inits int, f found) {
	t.Helper()
	return startedOf(t, counting.load(t), level, hc, pc)
}

// startedOf is startedAt for another manifest of the guest.
func startedOf(t *testing.T, spec *spec.Spec, level slog.Level, hc host.Config, pc host.PluginConfig) (inits int, f found) {
	t.Helper()
	var log bytes.Buffer
	hc.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
	hc.Tokenizer, hc.Portable = tokens.Words{}, portable()
	h, err := host.New(hc)
	if err != nil {
		t.Fatal(err)
	}
	host.KeepAllImages(h)
	p, err := h.Load(t.Context(), spec, pc)
	if err != nil {
		t.Fatal(err)
	}
	if f, err = count(t, p, "q", nil); err != nil {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if instances, memory := host.Usage(h); instances != 0 || memory != 0 {
		t.Errorf("%d instances and %d bytes held", instances, memory)
	}
	return strings.Count(log.String(), "init 1"), f
}

// A second process starts where the first one's init ended.
func TestImagesOnDisk(t *testing.T) {
	for _, state := range []host.State{host.StateReset, host.StateKeep} {
		hc := host.Config{CacheDir: emptyImages(t), ImageCache: host.DefaultImageCache}
		pc := host.PluginConfig{State: state, Settings: map[string]any{"index": 500}}
		for n, want := range []int{1, 0, 0} {
			inits, f := started(t, hc, pc)
			if inits != want || f.Index != 500 || f.Inits != 1 || f.Calls != 1 {
				t.Errorf("%s, process %d: init ran %d times (want %d), finds %+v", state, n, inits, want, f)
			}
		}
		pc.Settings["index"] = 501
		if inits, f := started(t, hc, pc); inits != 1 || f.Index != 501 {
			t.Errorf("other settings: init ran %d times, finds %+v", inits, f)
		}
		pc.Limits.Memory = 48 << 20
		if inits, _ := started(t, hc, pc); inits != 1 {
			t.Errorf("other limits: init ran %d times", inits)
		}
		if inits, _ := startedAt(t, slog.LevelDebug, hc, pc); inits != 1 { // guests ask for it
			t.Errorf("other level of the log: init ran %d times", inits)
		}
	}
}

func TestImagesThatAreNotKept(t *testing.T) {
	kept := host.Config{ImageCache: host.DefaultImageCache}
	for name, tc := range map[string]struct {
		host   host.Config
		plugin host.PluginConfig
	}{
		"switched off":   {host.Config{ImageCache: host.None}, host.PluginConfig{}},
		"by default":     {host.Config{}, host.PluginConfig{}},
		"too large":      {host.Config{ImageCache: 1 << 10}, host.PluginConfig{}},
		"config values":  {kept, host.PluginConfig{Config: map[string]string{"token": "secret"}}},
		"a secret":       {kept, host.PluginConfig{Settings: map[string]any{"token": "hush"}}},
		"a secret below": {kept, host.PluginConfig{Settings: map[string]any{"login": map[string]string{"password": "hush"}}}},
		"time of day":    {kept, host.PluginConfig{Settings: map[string]any{"clock": "wall"}}},
		"deterministic":  {kept, host.PluginConfig{Deterministic: true}},
		"fresh":          {kept, host.PluginConfig{State: host.StateFresh}},
		"its files open": {kept, host.PluginConfig{Settings: map[string]any{"open": "/docs/a"}, Grants: host.Grants{Files: []host.FileGrant{{Host: settledFolder(t), Guest: "/docs"}}}}},
	} {
		tc.host.CacheDir = emptyImages(t)
		for range 2 {
			if inits, _ := started(t, tc.host, tc.plugin); inits == 0 {
				t.Errorf("%s: init did not run", name)
			}
		}
		if files := imageFiles(t, tc.host.CacheDir); len(files) != 0 {
			t.Errorf("%s: %v", name, files)
		}
	}
}

// An author who promises that init makes nothing of the time of day has its image kept.
func TestImagesOfTimelessInits(t *testing.T) {
	spec := counting.with(t, "operations:\n", "operations:\n  init: {timeless: true}\n")
	hc := host.Config{CacheDir: emptyImages(t), ImageCache: host.DefaultImageCache}
	pc := host.PluginConfig{Settings: map[string]any{"clock": "wall"}}
	for n, want := range []int{1, 0} {
		if inits, _ := startedOf(t, spec, slog.LevelInfo, hc, pc); inits != want {
			t.Errorf("start %d: %d inits, want %d", n, inits, want)
		}
	}
}

// settledFolder is a folder with a file that has not changed lately.
func settledFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "a")
	if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, dir, file)
	return dir
}

// age gives files a time in the past.
func age(t *testing.T, files ...string) {
	t.Helper()
	past := time.Now().Add(-time.Hour)
	for _, f := range files {
		if err := os.Chtimes(f, past, past); err != nil {
			t.Fatal(err)
		}
	}
}

// An index of mounted files is made again when one of them changes, comes or goes.
func TestImagesFollowMountedFiles(t *testing.T) {
	dir := settledFolder(t)
	file := filepath.Join(dir, "a")
	hc := host.Config{CacheDir: emptyImages(t), ImageCache: host.DefaultImageCache}
	pc := host.PluginConfig{Grants: host.Grants{Files: []host.FileGrant{{Host: dir, Guest: "/docs"}}}}
	starts := func(when string, want int) {
		t.Helper()
		if inits, _ := started(t, hc, pc); inits != want {
			t.Errorf("%s: init ran %d times (want %d)", when, inits, want)
		}
	}
	starts("first", 1)
	starts("unchanged", 0)
	if err := os.WriteFile(file, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, file)
	starts("changed", 1)
	starts("unchanged again", 0)
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	starts("just added", 1)
	age(t, dir, filepath.Join(dir, "b"))
	starts("added", 1)
	starts("unchanged at last", 0)
	if runtime.GOOS != "linux" {
		return // nothing else is asked of the system
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("OTHER"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	starts("changed under its old time and size", 1)
}

// If an image is damaged, init runs again and the image is made again.
func TestDamagedImages(t *testing.T) {
	hc := host.Config{CacheDir: emptyImages(t), ImageCache: host.DefaultImageCache}
	started(t, hc, host.PluginConfig{})
	files := imageFiles(t, hc.CacheDir)
	if len(files) != 1 {
		t.Fatalf("images %v", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if inits, f := started(t, hc, host.PluginConfig{}); inits != want || f.Calls != 1 {
			t.Errorf("init ran %d times (want %d), finds %+v", inits, want, f)
		}
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if host.MakePipe(files[0]) == nil { // nobody waits for who writes into it
		if inits, _ := started(t, hc, host.PluginConfig{}); inits != 1 {
			t.Errorf("a pipe: init ran %d times", inits)
		}
	}
	if files := imageFiles(t, hc.CacheDir); len(files) != 1 {
		t.Errorf("images %v", files)
	}
}

func TestImagesOfSeveralProcesses(t *testing.T) {
	hc := host.Config{CacheDir: emptyImages(t), ImageCache: host.DefaultImageCache}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 3 {
				if _, f := started(t, hc, host.PluginConfig{}); f.Calls != 1 || f.Inits != 1 {
					t.Errorf("finds %+v", f)
				}
			}
		})
	}
	wg.Wait()
	if files := imageFiles(t, hc.CacheDir); len(files) != 1 {
		t.Errorf("images %v", files)
	}
}

// No secret gets to the disk, neither with the image nor otherwise.
func TestSecretsStayOffTheDisk(t *testing.T) {
	dir := emptyImages(t)
	hc := host.Config{CacheDir: dir, ImageCache: host.DefaultImageCache}
	hush := func(n int) string { return fmt.Sprintf("hush-%d-%s", n, t.Name()) }
	for _, pc := range []host.PluginConfig{
		{Settings: map[string]any{"token": hush(1)}},
		{Settings: map[string]any{"login": map[string]any{"password": hush(2)}, "index": 10}},
		{Config: map[string]string{"token": hush(3)}},
	} {
		started(t, hc, pc)
	}
	started(t, hc, host.PluginConfig{Settings: map[string]any{"clock": "seen-" + t.Name()}}) // no secret
	seen := false
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte("hush-")) {
			t.Errorf("%s holds a secret", path)
		}
		seen = seen || bytes.Contains(content, []byte("seen-"+t.Name()))
		return err
	})
	if err != nil || !seen {
		t.Errorf("error %v, what is no secret is found: %t", err, seen)
	}
}

// The stopwatch of guests goes on in the next process, but begins anew with the system:
// an image lasts until then, and only where one start can be told from another.
func TestImagesEndWithTheSystem(t *testing.T) {
	hc := host.Config{CacheDir: emptyImages(t), ImageCache: host.DefaultImageCache}
	pc := host.PluginConfig{Settings: map[string]any{"clock": "stopwatch"}}
	host.OtherBoot(t, "one")
	for boot, want := range [][2]int{{1, 0}, {1, 0}} {
		host.OtherBoot(t, fmt.Sprint("boot ", boot))
		for _, want := range want {
			if inits, f := started(t, hc, pc); inits != want || f.Calls != 1 {
				t.Errorf("boot %d: init ran %d times (want %d), finds %+v", boot, inits, want, f)
			}
		}
	}
	host.OtherBoot(t, "")
	for range 2 {
		if inits, _ := started(t, hc, pc); inits != 1 {
			t.Errorf("unknown start of the system: init ran %d times", inits)
		}
	}
}
