// Package watched looks at the files of a configuration, and says when one has changed.
package watched

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/anchor-host/anchor-host/anchor"
)

const (
	// Settle is the time without a change after which files are looked at. It lets programs finish
	// that write several files.
	Settle = time.Second
	// patience is how long changes that do not end delay a look: the log and the store of a service may be in a
	// watched folder.
	patience = 5 * Settle
	// maxWatchedFiles and maxWatchedFile bound what is compared.
	maxWatchedFiles, maxWatchedFile = 1000, 256 << 20
)

// Files are those of the configuration of an App: its file, anchor.lock, the prices, the modules and the manifests.
type Files struct {
	// Status says which they are.
	Status func() anchor.Status
	// Log receives why a folder is not watched.
	Log *slog.Logger

	mu     sync.Mutex
	digest [sha256.Size]byte // of what was read last
}

// Note notes what the files have. It is called before they are read, so that no change is missed.
func (f *Files) Note() {
	digest := f.fingerprint()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.digest = digest
}

func (f *Files) same(digest [sha256.Size]byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.digest == digest
}

// Watch calls changed when a file has, until ctx ends. An event only says that it is time to look: what counts is the
// content of the files.
func (f *Files) Watch(ctx context.Context, changed func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		f.Log.Warn("files are not watched (reload with SIGHUP, or POST /admin/v1/reload)", "error", err)
		return
	}
	defer w.Close()
	f.watchFolders(w)
	timer := time.NewTimer(0) // a file may have changed before it was watched
	defer timer.Stop()
	var first time.Time       // of the events since the last look
	var names map[string]bool // after the first look
	later := func() {
		if first.IsZero() {
			first = time.Now()
		}
		timer.Reset(min(Settle, patience-time.Since(first)))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			if names == nil || concerns(e, names) {
				later()
			}
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			f.Log.Warn("watching files", "error", err)
			later() // events may be lost
		case <-timer.C:
			first = time.Time{}
			if !f.same(f.fingerprint()) {
				changed()
				f.watchFolders(w) // the plugin folder may be another one
			}
			names = f.names()
		}
	}
}

// concerns reports whether an event may be of one of the files. A file that only grows, such as a log, must have the
// name of one; what comes, goes or is renamed may be a link that leads to one.
func concerns(e fsnotify.Event, names map[string]bool) bool {
	return e.Op&^(fsnotify.Write|fsnotify.Chmod) != 0 || names[filepath.Base(e.Name)]
}

// names are those of the files, and of the files to which links among them lead.
func (f *Files) names() map[string]bool {
	names := map[string]bool{}
	for _, path := range f.paths() {
		names[filepath.Base(path)] = true
		if target, err := filepath.EvalSymlinks(path); err == nil {
			names[filepath.Base(target)] = true
		}
	}
	return names
}

// watchFolders watches the folders of the configuration file, of the prices and of the plugins. Folders are watched
// instead of files, because programs replace files.
func (f *Files) watchFolders(w *fsnotify.Watcher) {
	st := f.Status()
	var folders []string
	if st.File != "" {
		folders = append(folders, filepath.Dir(st.File))
	}
	if st.PriceFile != "" {
		folders = append(folders, filepath.Dir(st.PriceFile))
	}
	folders = append(folders, st.PluginDir)
	if entries, err := os.ReadDir(st.PluginDir); err == nil {
		for _, e := range entries[:min(len(entries), maxWatchedFiles)] {
			if info, err := os.Stat(filepath.Join(st.PluginDir, e.Name())); err == nil && info.IsDir() {
				folders = append(folders, filepath.Join(st.PluginDir, e.Name()))
			}
		}
	}
	for _, folder := range folders {
		if err := w.Add(folder); err != nil && !os.IsNotExist(err) {
			f.Log.Warn("folder is not watched", "folder", folder, "error", err)
		}
	}
}

// fingerprint is a digest of the configuration file, anchor.lock, the prices, the modules and the manifests.
func (f *Files) fingerprint() [sha256.Size]byte {
	h := sha256.New()
	add := func(path string) {
		file, err := os.Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		_, _ = io.WriteString(h, path+"\x00") // a hash takes everything
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			return
		}
		_, _ = io.Copy(h, io.LimitReader(file, maxWatchedFile)) // what cannot be read is not compared
	}
	for _, path := range f.paths() {
		add(path)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// paths lists the files in a fixed order.
func (f *Files) paths() (paths []string) {
	st := f.Status()
	if st.File != "" {
		paths = append(paths, st.File, st.LockFile) // in the same folder
	}
	if st.PriceFile != "" {
		paths = append(paths, st.PriceFile)
	}
	plugins := pluginFiles(st.PluginDir)
	return append(paths, plugins[:min(len(plugins), maxWatchedFiles)]...)
}

// isPlugin reports whether a file of the plugin folder is a module or a manifest.
func isPlugin(name string) bool { return strings.HasSuffix(name, ".wasm") || name == "plugin.yaml" }

// pluginFiles lists the modules and manifests of a plugin folder, in a fixed order.
func pluginFiles(dir string) (paths []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if isPlugin(e.Name()) {
			paths = append(paths, path)
			continue
		}
		inside, err := os.ReadDir(path)
		if err != nil {
			continue
		}
		for _, in := range inside {
			if isPlugin(in.Name()) {
				paths = append(paths, filepath.Join(path, in.Name()))
			}
		}
	}
	return paths
}
