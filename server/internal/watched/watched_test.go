package watched

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// A folder in which files are written all the time, as the log, the store and the audit log of a service under load
// are beside its configuration, delays no change.
func TestBusyFolderDelaysNoChange(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]func(dir string, i int) error{
		"a file grows": func(dir string, i int) error {
			return os.WriteFile(filepath.Join(dir, "service.log"), []byte(strconv.Itoa(i)), 0o600)
		},
		"files come and go": func(dir string, i int) error {
			file := filepath.Join(dir, "journal"+strconv.Itoa(i))
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			return os.Remove(file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "anchor.yaml")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			write("old")
			f := &Files{Status: func() anchor.Status { return anchor.Status{File: file, PluginDir: dir} }, Log: slog.New(slog.DiscardHandler)}
			f.Note()
			ctx, cancel := context.WithCancel(t.Context())
			changed, ends := make(chan struct{}, 1), make(chan struct{}, 2)
			go func() {
				f.Watch(ctx, func() {
					f.Note()
					select {
					case changed <- struct{}{}:
					default:
					}
				})
				ends <- struct{}{}
			}()
			go func() {
				for i := 0; ctx.Err() == nil; i++ {
					if err := busy(dir, i); err != nil {
						t.Error(err)
						break
					}
				}
				ends <- struct{}{}
			}()
			for _, what := range []string{"before the folder is watched", "later"} {
				write(what)
				if !await.True(func() bool { return len(changed) > 0 }) {
					t.Errorf("a change %s was not noticed", what)
					break
				}
				<-changed
			}
			cancel()
			<-ends
			<-ends
		})
	}
}

// Files that links of the same folder lead to are written in place, and are noticed.
func TestLinkedFilesAreNoticed(t *testing.T) {
	t.Parallel()
	for link, target := range map[string]string{"anchor.yaml": "staging.yaml", "near.wasm": "near.v2"} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(text string) {
				if err := os.WriteFile(filepath.Join(dir, target), []byte(text), 0o600); err != nil {
					t.Error(err)
				}
			}
			write("old")
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Skip(err)
			}
			f := &Files{Status: func() anchor.Status { return anchor.Status{File: filepath.Join(dir, "anchor.yaml"), PluginDir: dir} }, Log: slog.New(slog.DiscardHandler)}
			ctx, cancel := context.WithCancel(t.Context())
			changed, ended := make(chan struct{}, 1), make(chan struct{})
			go func() {
				defer close(ended)
				f.Watch(ctx, func() {
					f.Note()
					select {
					case changed <- struct{}{}:
					default:
					}
				})
			}()
			<-changed // the first look: nothing was noted before
			for _, text := range []string{"new", "newer"} {
				time.Sleep(2 * Settle) // events of before are over
				write(text)
				select {
				case <-changed:
				case <-time.After(await.Patience):
					t.Errorf("%q was not noticed", text)
				}
			}
			cancel()
			<-ended
		})
	}
}
