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

// certificates gives connections the certificate that the files have now.
type certificates struct {
	files Files
	log   *slog.Logger

	mu     sync.Mutex
	next   time.Time // when the files are looked at again
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
	}
	return c.config
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
	c.config, c.digest = next, digest
	return nil
}
