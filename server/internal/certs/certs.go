// Package certs gives connections the certificate of files that may change while a service runs.
package certs

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
)

// Files are a certificate for a listener. They are read again when they change.
type Files struct {
	// Cert and Key are files in PEM: the certificate with its chain, and its private key.
	Cert, Key string
	// ClientCA is a file in PEM with the authorities of the certificates that clients must have.
	// Empty: they need none.
	ClientCA string
}

// Every is how often the files of a certificate are looked at.
const Every = 2 * time.Second

// Soon is how long before its end a certificate is a problem.
const Soon = 14 * 24 * time.Hour

// Problem says why clients refuse the files as they are, or soon will. It is nil without a certificate. The error of
// a certificate that is not valid now wraps an [x509.CertificateInvalidError].
func (f Files) Problem() error {
	if f.Cert == "" {
		return nil
	}
	c := &certificates{files: f}
	if err := c.read(); err != nil {
		return err
	}
	return c.problem(time.Now())
}

// Until returns the end of the certificate.
func (f Files) Until() (time.Time, error) {
	c := &certificates{files: f}
	if err := c.read(); err != nil {
		return time.Time{}, err
	}
	return c.config.Certificates[0].Leaf.NotAfter, nil
}

// certificates gives connections the certificate that the files have now.
type certificates struct {
	files Files
	log   *slog.Logger

	mu     sync.Mutex
	next   time.Time // when the files are looked at again
	warned time.Time // when the log last had a problem of this certificate
	digest [sha256.Size]byte
	config *tls.Config
}

// Config returns a TLS configuration, nil for one without a certificate. Errors name the setting; those about
// the content of a file wrap [config.ErrInvalid].
func Config(files Files, log *slog.Logger) (*tls.Config, error) {
	if files.Cert == "" {
		return nil, nil
	}
	c := &certificates{files: files, log: log}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.next = time.Now().Add(Every)
	c.warn(time.Now())
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil },
		GetCertificate:     func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &c.current().Certificates[0], nil },
	}, nil
}

// current returns the configuration for a new connection. Files that cannot be read leave it as it
// was.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.next) {
		c.next = now.Add(Every)
		if err := c.read(); err != nil {
			c.log.Error("certificate is not read again, and stays as it is", "error", err)
		}
		c.warn(now)
	}
	return c.config
}

// warn logs once a day, and of each new certificate, that it has ended, or ends soon.
func (c *certificates) warn(now time.Time) {
	if now.Sub(c.warned) < 24*time.Hour {
		return
	}
	if err := c.problem(now); err != nil {
		c.warned = now
		c.log.Warn("certificate", "error", err)
	}
}

// problem says that the certificate is not valid at a time, or not for long.
func (c *certificates) problem(now time.Time) error {
	const remedy = "write a new one into the files; no restart is needed"
	leaf := c.config.Certificates[0].Leaf
	from, until := leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339)
	invalid := x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired, Detail: "it ended at " + until}
	switch left := leaf.NotAfter.Sub(now); {
	case now.Before(leaf.NotBefore):
		invalid.Detail = "it begins at " + from
		fallthrough
	case left <= 0:
		return fmt.Errorf("%w: server.tls.cert: %s: %w (%s)", config.ErrInvalid, c.files.Cert, invalid, remedy)
	case left < Soon:
		return fmt.Errorf("%w: server.tls.cert: %s: it ends at %s (%s)", config.ErrInvalid, c.files.Cert, until, remedy)
	}
	return nil
}

// read reads the files, unless they are as before.
func (c *certificates) read() error {
	var data [3][]byte
	for i, name := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if name == "" {
			continue
		}
		var err error
		if data[i], err = os.ReadFile(name); err != nil {
			return fmt.Errorf("server.tls.%s: %w (name a file that can be read)", []string{"cert", "key", "client_ca"}[i], err)
		}
	}
	digest := sha256.Sum256(bytes.Join(data[:], []byte{0}))
	if c.config != nil && digest == c.digest {
		return nil
	}
	cert, err := tls.X509KeyPair(data[0], data[1])
	if err != nil {
		return fmt.Errorf("%w: server.tls: %s and %s: %w (cert and key must belong together)", config.ErrInvalid, c.files.Cert, c.files.Key, err)
	}
	next := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{cert}}
	if c.files.ClientCA != "" {
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !next.ClientCAs.AppendCertsFromPEM(data[2]) {
			return fmt.Errorf("%w: server.tls.client_ca: %s: no certificate in PEM", config.ErrInvalid, c.files.ClientCA)
		}
	}
	c.config, c.digest, c.warned = next, digest, time.Time{}
	return nil
}
