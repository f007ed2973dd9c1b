package host_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// entry is the machine code of a module in a cache: the folder, and the names of the
// file that describes it and of the code.
type entry struct{ dir, sum, code string }

// entriesOf are the entries of a cache.
func entriesOf(t *testing.T, dir string) (list []entry) {
	t.Helper()
	sums, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*", "sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range sums {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(sum), "*"))
		if err != nil || len(files) != 2 {
			t.Fatal(files, err)
		}
		e := entry{dir: filepath.Dir(sum), sum: sum, code: files[0]}
		if e.code == sum {
			e.code = files[1]
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		t.Skip("this platform does not compile")
	}
	return list
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Machine code that somebody put into the folder does not run, however well it is made:
// the code of another module, with the checksums of wazero and of the entry all right.
func TestPlantedCodeDoesNotRun(t *testing.T) {
	for name, plant := range map[string]func(of, by entry) (sum string){
		"the description stays":      func(of, _ entry) string { return read(t, of.sum) },
		"the description comes with": func(_, by entry) string { return read(t, by.sum) },
		"the description is fitted": func(of, by entry) string {
			return strings.ReplaceAll(read(t, by.sum), filepath.Base(by.code), filepath.Base(of.code))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runs(t, dir)
			list := entriesOf(t, dir)
			codes, sums := map[string]string{}, map[string]string{}
			for i, of := range list {
				by := list[(i+1)%len(list)]
				codes[of.code], sums[of.sum] = read(t, by.code), plant(of, by)
			}
			for _, files := range []map[string]string{codes, sums} {
				for file, text := range files {
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			runs(t, dir)
			runs(t, dir)
		})
	}
}

// A file that is refused is named in the log.
func TestRefusedFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	runs(t, dir)
	for _, e := range entriesOf(t, dir) {
		if err := os.WriteFile(e.code, []byte(read(t, e.code)+"x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	h := newHost(t, host.Config{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	spec, err := spec.Read("constant", constant(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(t.Context(), spec, host.PluginConfig{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "written by somebody without the key of this user") {
		t.Errorf("log:\n%s", &log)
	}
}
