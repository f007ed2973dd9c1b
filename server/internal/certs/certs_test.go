package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/config"
)

// write writes a certificate that is valid for some time around now.
func write(t *testing.T, from, until time.Duration) Files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(from), NotAfter: now.Add(until)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for file, block := range map[string]*pem.Block{f.Cert: {Type: "CERTIFICATE", Bytes: cert}, f.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// A certificate that has ended, or ends soon, is a problem with a remedy, and is in the log of a service once a day.
func TestCertificateEnds(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		from, until time.Duration
		want        string // "" for no problem
		invalid     bool
	}{
		"valid":   {-day, 60 * day, "", false},
		"soon":    {-day, 3 * day, "it ends at ", false},
		"ended":   {-9 * day, -day, "it ended at ", true},
		"not yet": {day, 60 * day, "it begins at ", true},
	} {
		f := write(t, tt.from, tt.until)
		err := f.Problem()
		var invalid x509.CertificateInvalidError
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "(write a new one into the files; no restart is needed)") || !errors.Is(err, config.ErrInvalid)) {
			t.Errorf("%s: %v", name, err)
		}
		if errors.As(err, &invalid) != tt.invalid {
			t.Errorf("%s: refused: %v", name, err)
		}
		if until, err := f.Until(); err != nil || time.Until(until).Round(time.Hour) != tt.until {
			t.Errorf("%s: until %v, %v", name, until, err)
		}
		var log strings.Builder
		c := &certificates{files: f, log: slog.New(slog.NewTextHandler(&log, nil))}
		if err := c.read(); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, at := range []time.Time{now, now.Add(time.Hour), now.Add(25 * time.Hour)} {
			c.warn(at)
		}
		if lines, want := strings.Count(log.String(), "level=WARN"), 2; (tt.want != "") != (lines > 0) || lines > want {
			t.Errorf("%s: %d lines:\n%s", name, lines, log.String())
		}
	}
	if err := (Files{}).Problem(); err != nil {
		t.Error(err)
	}
	f := write(t, -day, 60*day)
	if err := os.WriteFile(f.Cert, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Problem(); err == nil {
		t.Error("a broken file is no problem")
	}
}

// A new certificate that has ended, too, is in the log at once.
func TestNewCertificateHasEnded(t *testing.T) {
	const day = 24 * time.Hour
	f, other := write(t, -day, 3*day), write(t, -9*day, -day)
	var log strings.Builder
	c := &certificates{files: f, log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, file := range []struct{ from, to string }{{}, {other.Cert, f.Cert}, {other.Key, f.Key}} {
		if file.from != "" {
			if err := os.Rename(file.from, file.to); err != nil {
				t.Fatal(err)
			}
		}
		c.next = time.Time{} // the files are looked at
		c.current()
	}
	if text := log.String(); strings.Count(text, "level=WARN") != 2 || !strings.Contains(text, "it ended at ") {
		t.Errorf("log:\n%s", text)
	}
}
