package server

import (
	"context"
	"crypto/sha256"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is the time without a change after which files are looked at. It lets programs finish
	// that write several files.
	settle = time.Second
	// maxWatchedFiles and maxWatchedFile bound what is compared.
	maxWatchedFiles, maxWatchedFile = 1000, 256 << 20
)

// seenFiles is the digest of the files that the last reload has read.
type seenFiles struct {
	mu     sync.Mutex
	digest [sha256.Size]byte
}

func (f *seenFiles) set(digest [sha256.Size]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.digest = digest
}

func (f *seenFiles) same(digest [sha256.Size]byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.digest == digest
}

// watch reloads when the configuration file, anchor.lock, the prices or a plugin changes, until ctx ends. An event only says
// that it is time to look: what counts is the content of the files.
func (s *Server) watch(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		s.log.Warn("files are not watched (reload with SIGHUP, or POST /admin/v1/reload)", "error", err)
		return
	}
	defer w.Close()
	s.watchFolders(w)
	timer := time.NewTimer(0) // a file may have changed before it was watched
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.Events:
			if !ok {
				return
			}
			timer.Reset(settle)
		case err, ok := <-w.Errors:
			if !ok {
				return
			}
			s.log.Warn("watching files", "error", err)
			timer.Reset(settle) // events may be lost
		case <-timer.C:
			if s.files.same(s.fingerprint()) {
				continue
			}
			bounded, cancel := context.WithTimeout(ctx, s.o.MaxTimeout)
			_ = s.Reload(bounded, "a file changed") // it logs its error
			cancel()
			s.watchFolders(w) // the plugin folder may be another one
		}
	}
}

// watchFolders watches the folders of the configuration file, of the prices and of the plugins. Folders are watched
// instead of files, because programs replace files.
func (s *Server) watchFolders(w *fsnotify.Watcher) {
	st := s.app.Status()
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
			s.log.Warn("folder is not watched", "folder", folder, "error", err)
		}
	}
}

// fingerprint is a digest of the configuration file, anchor.lock, the prices, the modules and the manifests.
func (s *Server) fingerprint() [sha256.Size]byte {
	st := s.app.Status()
	h := sha256.New()
	add := func(path string) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		_, _ = io.WriteString(h, path+"\x00") // a hash takes everything
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return
		}
		_, _ = io.Copy(h, io.LimitReader(f, maxWatchedFile)) // what cannot be read is not compared
	}
	if st.File != "" {
		add(st.File)
		add(st.LockFile) // in the same folder
	}
	add(st.PriceFile)
	n := 0
	for _, path := range pluginFiles(st.PluginDir) {
		if n++; n > maxWatchedFiles {
			break
		}
		add(path)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// pluginFiles lists the modules and manifests of a plugin folder, in a fixed order.
func pluginFiles(dir string) (paths []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	isPlugin := func(e fs.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".wasm") || e.Name() == "plugin.yaml"
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if isPlugin(e) {
			paths = append(paths, path)
			continue
		}
		inside, err := os.ReadDir(path)
		if err != nil {
			continue
		}
		for _, in := range inside {
			if isPlugin(in) {
				paths = append(paths, filepath.Join(path, in.Name()))
			}
		}
	}
	return paths
}
