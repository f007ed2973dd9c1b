package mcpsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/anchor-host/anchor-host/internal/addresses"
)

const (
	// overhead is what a message may have beside the texts, in bytes, and maxTools bounds a list.
	overhead, maxTools = 1 << 20, 1000
	// grace is how long a call may take to end after its time.
	grace = time.Second
	// dialTime bounds a connection.
	dialTime = 10 * time.Second
)

// errTooLarge ends a connection whose message is too large.
var errTooLarge = errors.New("a message of the server is too large (raise max_bytes)")

// peer is a connection to a server.
type peer struct {
	session *mcp.ClientSession
	// stop ends the connection at once, whatever the server does.
	stop func()
	// changed is closed when the server says that its tools have changed.
	changed chan struct{}
	once    sync.Once
	// last is the end of what a server on stdio wrote to its stderr.
	last *tail
}

// dial connects to a server. ctx bounds the start only.
func dial(ctx context.Context, s *Settings, dir string) (*peer, error) {
	p := &peer{changed: make(chan struct{}), last: &tail{}}
	transport, err := p.transport(s, dir)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "anchor-host", Version: "1"}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{}, // it has no roots, and asks nobody
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { p.once.Do(func() { close(p.changed) }) },
	})
	client.AddSendingMiddleware(fresh)
	p.session, err = guarded(ctx, p.stop, func() (*mcp.ClientSession, error) { return client.Connect(ctx, transport, nil) })
	if err != nil {
		p.stop()
		return nil, p.why(err)
	}
	return p, nil
}

// fresh lets no list be kept, because a server could hide with it that its tools have changed.
func fresh(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		switch list := result.(type) {
		case *mcp.ListToolsResult:
			if list != nil {
				list.TTLMs = 0
			}
		case *mcp.ReadResourceResult:
			if list != nil {
				list.TTLMs = 0
			}
		}
		return result, err
	}
}

// guarded runs f. If f does not end soon after ctx, stop ends what it waits for, and guarded does not wait longer.
func guarded[T any](ctx context.Context, stop func(), f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if problem := recover(); problem != nil { // of the library, on what a stranger sent
				done <- result{err: fmt.Errorf("the answer cannot be read: %v", problem)}
			}
		}()
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
		stop()
		var zero T
		return zero, context.Cause(ctx)
	}
}

// why adds to an error what the server wrote to its stderr.
func (p *peer) why(err error) error {
	if text := p.last.text(); text != "" {
		return fmt.Errorf("%w (the server says: %s)", err, text)
	}
	return err
}

// close ends the connection.
func (p *peer) close() {
	p.stop()
	if p.session != nil {
		_ = p.session.Close() // it is cut already
	}
}

// tools returns the list of tools.
func (p *peer) tools(ctx context.Context) ([]*mcp.Tool, error) {
	return guarded(ctx, p.stop, func() (list []*mcp.Tool, err error) {
		for t, err := range p.session.Tools(ctx, nil) {
			if err != nil {
				return nil, fmt.Errorf("list tools: %w", err)
			}
			if list = append(list, t); len(list) > maxTools {
				return nil, fmt.Errorf("list tools: it has more than %d", maxTools)
			}
		}
		return list, nil
	})
}

func (p *peer) transport(s *Settings, dir string) (mcp.Transport, error) {
	if s.URL != "" {
		return p.http(s)
	}
	return p.command(s, dir)
}

// command starts a server on stdio.
func (p *peer) command(s *Settings, dir string) (mcp.Transport, error) {
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Env, cmd.Dir, cmd.Stderr = []string{}, dir, p.last
	cmd.WaitDelay = grace
	own(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(s.Command[0]), err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(s.Command[0]), err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	ended := make(chan struct{})
	var once sync.Once
	p.stop = func() {
		once.Do(func() {
			_ = in.Close()
			kill(cmd)
			_ = out.Close()
			_ = cmd.Wait() // it was killed
			close(ended)
		})
		<-ended
	}
	return &mcp.IOTransport{Reader: out, Writer: in, MaxLineLength: s.MaxBytes + overhead}, nil
}

// http makes the connection to a server on HTTP.
func (p *peer) http(s *Settings) (mcp.Transport, error) {
	header := http.Header{}
	for name, variable := range s.Headers {
		value := os.Getenv(variable)
		if value == "" {
			return nil, fmt.Errorf("header %.100s: the environment variable %.100s is not set", name, variable)
		}
		header.Set(name, value)
	}
	dialer := &net.Dialer{Timeout: dialTime, Control: func(_, address string, _ syscall.RawConn) error { return permit(address, s.Private) }}
	base := &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTime, MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = func() {
		cancel()
		base.CloseIdleConnections()
	}
	client := &http.Client{
		Transport: &bounded{base, header, int64(s.MaxBytes) + overhead, ctx},
		// A redirect would carry the header to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects (name its last URL)")
		},
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: s.MaxBytes + overhead}, nil
}

// permit refuses addresses as the permission http of a plugin does.
func permit(address string, private bool) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	a := at.Addr().Unmap().WithZone("")
	switch {
	case addresses.Guarded(a):
		return fmt.Errorf("address %s is one that no MCP server has", a)
	case !private && !addresses.Public(a):
		return fmt.Errorf("address %s is private (allow it with private: true)", a)
	}
	return nil
}

// bounded sends requests with a header, bounds each answer, and ends all of them with ctx.
type bounded struct {
	base   http.RoundTripper
	header http.Header
	limit  int64
	ctx    context.Context // the life of the connection
}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	unhook := context.AfterFunc(b.ctx, cancel)
	r = r.Clone(ctx)
	for name, values := range b.header {
		r.Header[name] = values
	}
	answer, err := b.base.RoundTrip(r)
	if err != nil {
		unhook()
		cancel()
		return nil, err
	}
	answer.Body = &limited{answer.Body, b.limit, func() { unhook(); cancel() }}
	return answer, nil
}

// limited is a body with a bound.
type limited struct {
	io.ReadCloser
	left int64
	end  func()
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

func (l *limited) Close() error {
	defer l.end()
	return l.ReadCloser.Close()
}
