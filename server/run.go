package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/anchor-host/anchor-host/internal/config"
)

const (
	// headerTimeout bounds the header of a request in time, and maxHeader in bytes.
	headerTimeout, maxHeader = 10 * time.Second, 64 << 10
	// maxAdminConnections bounds the connections of the admin listener.
	maxAdminConnections = 64
	// cutGrace is how long requests that are cut may take to say so.
	cutGrace = 2 * time.Second
)

// Run listens, and serves until ctx ends. Then the service ends in three phases:
//
//  1. /readyz says draining, and requests are still accepted, for DrainDelay.
//  2. The listener of the API is closed, and running requests finish, within DrainTimeout.
//     Evaluations are cancelled.
//  3. Requests that still run are cancelled, which is logged, and answered with status 503.
//
// [Server.Cut] skips to the third phase. The error is nil after an end in order, also if requests
// were cut. Without an Authenticator, addresses other than loopback ones are an error.
func (s *Server) Run(ctx context.Context) error {
	defer s.jobs.close()
	if !s.o.Unwatched {
		s.files.set(s.fingerprint())
	}
	secure, err := newTLS(s.o.TLS, s.log)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	data, err := s.listen("listen", s.o.Listen, s.o.MaxConnections)
	if err != nil {
		return err
	}
	defer data.Close()
	var admin net.Listener
	if s.o.AdminListen != config.NoListener {
		if admin, err = s.listen("admin_listen", s.o.AdminListen, maxAdminConnections); err != nil {
			return err
		}
		defer admin.Close()
	}
	base, cut := s.base(ctx)
	defer cut()
	api := s.httpServer(base, s.Handler())
	api.TLSConfig = secure
	serving := make(chan error, 2)
	go func() {
		if secure != nil {
			serving <- api.ServeTLS(data, "", "")
		} else {
			serving <- api.Serve(data)
		}
	}()
	var control *http.Server
	var adminAddr net.Addr
	if admin != nil {
		control, adminAddr = s.httpServer(base, s.AdminHandler()), admin.Addr()
		go func() { serving <- control.Serve(admin) }()
	}
	s.warnings.first = s.serverSettings()
	watching, stopWatching := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	if !s.o.Unwatched {
		watcher.Go(func() { s.watch(watching) })
	}
	if s.o.OnListen != nil {
		s.o.OnListen(data.Addr(), adminAddr)
	}
	var failed error
	select {
	case <-ctx.Done():
		s.drain(api, cut)
	case <-s.hurry:
		s.drain(api, cut)
	case err := <-serving:
		failed = fmt.Errorf("server: serve: %w", err)
	}
	stopWatching()
	watcher.Wait()
	cut()
	_ = api.Close() // nothing runs any more, or was cut
	if control != nil {
		_ = control.Close() // the service has ended
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
	go s.jobs.close()
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
		Handler: h, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: min(headerTimeout, s.o.ClientTimeout), IdleTimeout: s.o.IdleTimeout, MaxHeaderBytes: maxHeader,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: 100, WriteByteTimeout: s.o.ClientTimeout, SendPingTimeout: s.o.IdleTimeout, PingTimeout: s.o.ClientTimeout},
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// listen opens a listener.
func (s *Server) listen(key, address string, connections int) (net.Listener, error) {
	if err := s.checkAddress(key, address); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("server.%s: %w (choose another address, or end the program that has it)", key, err)
	}
	return netutil.LimitListener(l, connections), nil
}

// errOpen says that a service would be open to everybody.
var errOpen = errors.New("other computers could use the service without a key (listen on 127.0.0.1, or set server.keys)")

// checkAddress refuses an address that other computers reach, unless requests need a key.
func (s *Server) checkAddress(key, address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("server.%s: %w (want a host and a port such as 127.0.0.1:8790)", key, err)
	}
	if s.o.Authenticator != nil || strings.EqualFold(host, "localhost") {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("server.%s %s: %w", key, address, errOpen)
}
