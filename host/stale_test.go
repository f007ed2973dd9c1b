package host_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// What processes left in a cache goes after a day, whatever the folder is called; what
// lies elsewhere and is not old stays.
func TestStaleLeftovers(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "cache[12]")
	left := map[string]bool{ // whether it is to stay
		"cache[12]/run-old/file": false, "cache[12]/run-new/file": true, "cache[12]/images/new-old/file": false,
		"cache[12]/images/new-new/file": true, "cache[12]/images/other": true, "cache1/run-old/file": true, "cache1/images/new-old/file": true,
	}
	long := time.Now().Add(-48 * time.Hour)
	for name := range left {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if folder := filepath.Dir(path); filepath.Base(folder)[3:] == "-old" {
			if err := os.Chtimes(folder, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	load(t, newHost(t, host.Config{CacheDir: dir, Portable: true}), "no-change", host.PluginConfig{})
	for name, stays := range left {
		if _, err := os.Stat(filepath.Join(base, filepath.FromSlash(name))); (err == nil) != stays {
			t.Errorf("%s: error %v (is to stay: %t)", name, err, stays)
		}
	}
}
