package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server/internal/certs"
	"github.com/anchor-host/anchor-host/server/internal/conns"
)

const (
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 64 << 10
	// headerGrace is the time in which net/http can say that a header did not come in time.
	headerGrace = time.Second
	// maxAdminConnections bounds the connections of the admin listener.
	maxAdminConnections = 64
	// maxUnread bounds what a connection of HTTP/2 has sent and no request has read, in bytes.
	maxUnread = 256 << 10
	// cutGrace is how long requests that are cut may take to say so.
	cutGrace = 2 * time.Second
)

// Run listens, and serves until ctx ends. Then the service ends in three phases:
//
//  1. /readyz says draining, and requests are still accepted, for DrainDelay.
//  2. The listener of the API is closed, and running requests finish, within DrainTimeout.
//     Evaluations and ingestions are cancelled.
//  3. Requests that still run are cancelled, which is logged, and answered with status 503.
//
// [Server.Cut] skips to the third phase. The error is nil after an end in order, also if requests
// were cut. Without an Authenticator, addresses other than loopback ones are an error.
func (s *Server) Run(ctx context.Context) error {
	defer s.Close()
	if !s.o.Unwatched {
		s.files.Note()
	}
	on, err := s.open()
	if err != nil {
		return err
	}
	defer on.close()
	base, cut := s.base(ctx)
	defer cut()
	serving := s.serve(base, on)
	s.warnTroubled()
	s.warnings.first = s.serverSettings()
	watching, stopWatching := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	if !s.o.Unwatched {
		watcher.Go(func() {
			s.files.Watch(watching, func() {
				bounded, cancel := context.WithTimeout(watching, s.o.MaxTimeout)
				defer cancel()
				_ = s.Reload(bounded, "a file changed") // it logs its error
			})
		})
	}
	defer func() {
		stopWatching()
		watcher.Wait()
	}()
	if s.o.OnListen != nil {
		s.o.OnListen(on.data.Addr(), on.adminAddr())
	}
	select {
	case <-ctx.Done():
	case <-s.hurry:
	case err := <-serving:
		return fmt.Errorf("server: serve: %w", err)
	}
	s.drain(on.api, cut)
	return nil
}

// listeners are what a service listens on, and who serves it.
type listeners struct {
	secure      *tls.Config
	data, admin net.Listener // admin is nil if there is none
	api         *http.Server
	control     *http.Server // nil if there is no admin listener
}

// Check says why [Server.Run] with these options would fail, as far as that can be known without opening a
// listener: it reads the certificate, and looks at the addresses.
func (o Options) Check() error {
	o.complete()
	_, err := o.secure()
	return err
}

// secure checks the addresses and reads the certificate, nil if there is none.
func (o *Options) secure() (*tls.Config, error) {
	if err := o.checkAddress("listen", o.Listen); err != nil {
		return nil, err
	}
	if o.AdminListen != config.NoListener {
		if err := o.checkAddress("admin_listen", o.AdminListen); err != nil {
			return nil, err
		}
	}
	return certs.Config(o.TLS, o.Logger)
}

// open reads the certificate and opens the listeners.
func (s *Server) open() (on *listeners, err error) {
	on = &listeners{}
	if on.secure, err = s.o.secure(); err != nil {
		return nil, err
	}
	if on.data, err = s.listen("listen", s.o.Listen, s.o.MaxConnections, s.o.MaxConnectionsPerAddress); err != nil {
		return nil, err
	}
	if s.o.AdminListen == config.NoListener {
		return on, nil
	}
	if on.admin, err = s.listen("admin_listen", s.o.AdminListen, maxAdminConnections, maxAdminConnections); err != nil {
		_ = on.data.Close() // nobody uses it
		return nil, err
	}
	return on, nil
}

// adminAddr returns the address of the admin listener, nil if there is none.
func (on *listeners) adminAddr() net.Addr {
	if on.admin == nil {
		return nil
	}
	return on.admin.Addr()
}

// close closes the listeners and all connections. Nothing runs any more, or was cut.
func (on *listeners) close() {
	_ = on.api.Close()
	if on.control != nil {
		_ = on.control.Close()
	}
}

// serve serves both listeners in the background. The channel has the error of one that fails.
func (s *Server) serve(base context.Context, on *listeners) <-chan error {
	failed := make(chan error, 2)
	on.api = s.httpServer(base, s.Handler())
	on.api.TLSConfig = on.secure
	go func() {
		if on.secure != nil {
			failed <- on.api.ServeTLS(on.data, "", "")
		} else {
			failed <- on.api.Serve(on.data)
		}
	}()
	if on.admin != nil {
		on.control = s.httpServer(base, s.AdminHandler())
		go func() { failed <- on.control.Serve(on.admin) }()
	}
	return failed
}

// Cut ends the service at once: running requests are cancelled.
func (s *Server) Cut() { s.hurryOnce.Do(func() { close(s.hurry) }) }

// drain is the end of the service.
func (s *Server) drain(api *http.Server, cut context.CancelFunc) {
	s.draining.Store(true)
	s.log.Info("service ends: not ready", "delay", max(0, s.o.DrainDelay), "running", s.running.Load())
	s.pause(s.o.DrainDelay)
	go s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), s.o.DrainTimeout)
	defer cancel()
	go func() {
		select {
		case <-s.hurry:
			cancel()
		case <-ctx.Done():
		}
	}()
	if api.Shutdown(ctx) == nil {
		s.log.Info("service ends: all requests are answered")
		return
	}
	s.cut.Store(true)
	s.log.Warn("service ends: requests are cut", "running", s.running.Load())
	cut()
	grace, done := context.WithTimeout(context.Background(), cutGrace)
	defer done()
	_ = api.Shutdown(grace) // those that do not end within the grace lose their connection
}

// pause waits, unless the service has to end at once.
func (s *Server) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-s.hurry:
	}
}

// httpServer returns the server of a listener.
func (s *Server) httpServer(base context.Context, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, BaseContext: func(net.Listener) context.Context { return base }, ConnContext: conns.With,
		ReadHeaderTimeout: min(s.o.HeaderTimeout, s.o.ClientTimeout), IdleTimeout: s.o.IdleTimeout, MaxHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 100, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread,
			WriteByteTimeout: s.o.ClientTimeout, SendPingTimeout: s.o.IdleTimeout, PingTimeout: s.o.ClientTimeout,
		},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// listen opens a listener for so many connections, and for so many of each address.
func (s *Server) listen(key, address string, all, each int) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server.%s: %w (choose another address, or end the program that has it)", key, err)
	}
	patience := min(s.o.HeaderTimeout, s.o.IdleTimeout) + headerGrace
	return conns.New(l, "server."+key, all, each, patience, s.log), nil
}

// errOpen says that a service would be open to everybody.
var errOpen = errors.New("other computers could use the service without a key (listen on 127.0.0.1, or set server.keys)")

// checkAddress refuses an address that other computers reach, unless requests need a key.
func (o *Options) checkAddress(key, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: server.%s: %w (want a host and a port such as 127.0.0.1:8790)", config.ErrInvalid, key, err)
	}
	if o.Authenticator != nil || strings.EqualFold(host, "localhost") {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%w: server.%s %s: %w", config.ErrInvalid, key, address, errOpen)
}
