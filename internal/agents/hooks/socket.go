package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/anchor-host/anchor-host/internal/storeurl"
)

// maxSocket is the longest path of a Unix socket on all platforms, in bytes.
const maxSocket = 100

// SocketPath returns the Unix socket at which a running host answers hooks for a store: hooks.sock beside its file.
// It is empty for a database, and where the path would be too long: then hooks open the store themselves.
func SocketPath(store string) string {
	if storeurl.Is(store) || store == "" {
		return ""
	}
	path := filepath.Join(filepath.Dir(store), "hooks.sock")
	if len(path) > maxSocket {
		return ""
	}
	return path
}

// headerReport is where an answer over HTTP says what the event came to.
const headerReport = "X-Anchor-Hook"

// errNoHost means that no host answers at the socket.
var errNoHost = errors.New("no host is running")

// Ask sends an event to the host at a socket. The error wraps [errNoHost] if there is none.
func Ask(ctx context.Context, socket string, r Request) ([]byte, Report, error) {
	var report Report
	if socket == "" {
		return nil, report, errNoHost
	}
	if info, err := os.Lstat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, report, errNoHost
	}
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, report, fmt.Errorf("%w: %w", errNoHost, err)
	}
	client := http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://host/v1/hooks/"+r.Client+"?event="+r.Event, bytes.NewReader(r.Body))
	if err != nil {
		return nil, report, fmt.Errorf("hook: ask the host: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, report, fmt.Errorf("hook: ask the host: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	if err != nil || resp.StatusCode >= 300 {
		return nil, report, fmt.Errorf("hook: ask the host: status %d, %w", resp.StatusCode, err)
	}
	if err := json.Unmarshal([]byte(resp.Header.Get(headerReport)), &report); err != nil {
		return nil, report, fmt.Errorf("hook: ask the host: its report: %w", err)
	}
	return answer, report, nil
}

// dialTime is how long a hook waits for a host to take its call.
const dialTime = 200 * time.Millisecond

// NoHost reports whether an error of [Ask] means that no host is running.
func NoHost(err error) bool { return errors.Is(err, errNoHost) }

// HTTP answers POST /v1/hooks/{client}. handler returns the Handler of a request, which may depend on its tenant, and
// remote says whether the folders of events are on another machine. Every event that can be read is answered with
// status 200 and what the client takes; {} if that is nothing.
func HTTP(handler func(*http.Request) (*Handler, error), remote bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		if err != nil {
			http.Error(w, "hook: read the event: "+err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		h, err := handler(r)
		if err != nil {
			http.Error(w, "hook: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		answer, report := h.Answer(r.Context(), Request{
			Client: r.PathValue("client"), Event: r.URL.Query().Get("event"), Body: body, Remote: remote,
		})
		report.Via = "host"
		if len(answer) == 0 {
			answer = []byte("{}\n")
		}
		w.Header().Set("Content-Type", "application/json")
		if line, err := json.Marshal(header(report)); err == nil {
			w.Header().Set(headerReport, string(line))
		}
		_, _ = w.Write(answer) // the client may be gone
	})
}

// header is a report that fits into a header: ASCII, and not too long.
func header(r Report) Report {
	r.Error = truncate(r.Error, 500)
	r.Added = r.Added[:min(len(r.Added), 64)]
	return r
}

// Listen answers hooks at a Unix socket that only this user can open, until ctx ends. It leaves the socket of a
// host that is running alone, and replaces one that nobody answers.
func Listen(ctx context.Context, socket string, h http.Handler, log *slog.Logger) (closed func(), err error) {
	if socket == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return nil, fmt.Errorf("hooks: socket: %w", err)
	}
	if info, err := os.Lstat(socket); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("hooks: socket: %s is no socket (remove it)", socket)
		}
		if conn, err := net.DialTimeout("unix", socket, dialTime); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("hooks: socket: another host answers at %s (hooks go there)", socket)
		}
		if err := os.Remove(socket); err != nil {
			return nil, fmt.Errorf("hooks: socket: %w", err)
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("hooks: socket: %w", err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("hooks: socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/hooks/{client}", h)
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = s.Serve(listener) }()
	return func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
	}, nil
}
