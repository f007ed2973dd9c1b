package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// reloadWarnings are sentences about the last successful reload.
type reloadWarnings struct {
	mu    sync.Mutex
	first map[string]string // the settings of the server with which it began
	list  []string
}

func (w *reloadWarnings) get() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.list...)
}

// set notes which settings of the server are others than those with which it began.
func (w *reloadWarnings) set(now map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := map[string]bool{}
	for key := range w.first {
		keys[key] = true
	}
	for key := range now {
		keys[key] = true
	}
	w.list = nil
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if w.first[key] != now[key] {
			w.list = append(w.list, fmt.Sprintf("%s changed: restart the service to apply it", key))
		}
	}
}

// Reload loads the configuration, its plugins and the keys again, as [anchor.App.Reload] does, and logs how it
// ended. An error says why everything is as before. why is logged.
func (s *Server) Reload(ctx context.Context, why string) error {
	if !s.o.Unwatched {
		s.files.Note()
	}
	if err := s.app.ReloadWith(ctx, s.prepare()); err != nil {
		s.log.Error("configuration is not reloaded, and stays as it is", "why", why, "generation", s.app.Status().Number, "error", err)
		return err
	}
	s.warnings.set(s.serverSettings())
	s.log.Info("configuration is reloaded", "why", why, "generation", s.app.Status().Number)
	for _, w := range s.warnings.get() {
		s.log.Warn(w)
	}
	s.warnTroubled()
	return nil
}

// warnTroubled logs which plugins cannot be called, whose steps are skipped, and which are as before.
func (s *Server) warnTroubled() {
	notReady, kept := s.troubled()
	for _, p := range notReady {
		s.log.Warn("plugin is not ready", "plugin", p.Name, "error", p.Error)
	}
	for _, p := range kept {
		s.log.Warn("plugin stays as it was before the reload", "plugin", p.Name, "digest", p.Digest, "error", p.Kept)
	}
}

// prepare returns how the keys are read with the configuration, nil if there are none.
func (s *Server) prepare() func() (func(), error) {
	if keys, ok := s.o.Authenticator.(Companion); ok {
		return keys.Prepare
	}
	return nil
}

// keysProblem says why the file of the keys was not taken when it was last read, nil if it was.
func (s *Server) keysProblem() error {
	if keys, ok := s.o.Authenticator.(Companion); ok {
		return keys.Problem()
	}
	return nil
}
