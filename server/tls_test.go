package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/internal/certs"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, key, cert}
}

// issue writes a certificate and its key as files.
func (a *authority) issue(serial int64, certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	writePEM(a.t, certFile, "CERTIFICATE", der)
	writePEM(a.t, keyFile, "PRIVATE KEY", keyDER)
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The API speaks HTTP/2 over TLS, asks clients for a certificate, and takes a new one of its own
// without a restart; a broken one leaves the old one.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	writePEM(t, file("ca.pem"), "CERTIFICATE", ca.cert.Raw)
	ca.issue(7, file("cert.pem"), file("key.pem"))
	ca.issue(100, file("client.pem"), file("client.key"))
	l := start(t, words, Options{TLS: TLS{Cert: file("cert.pem"), Key: file("key.pem"), ClientCA: file("ca.pem")}})
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	clientCert, err := tls.LoadX509KeyPair(file("client.pem"), file("client.key"))
	if err != nil {
		t.Fatal(err)
	}
	get := func(certs ...tls.Certificate) (*http.Response, error) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport, Timeout: await.Patience}).Get("https://" + l.data + "/livez")
		if err == nil {
			resp.Body.Close()
		}
		return resp, err
	}
	serial := func() int64 {
		t.Helper()
		resp, err := get(clientCert)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 2 || resp.StatusCode != 200 {
			t.Errorf("%s, status %d", resp.Proto, resp.StatusCode)
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 7 {
		t.Errorf("certificate %d", n)
	}
	if _, err := get(); err == nil {
		t.Error("a client without a certificate is served")
	}
	ca.issue(8, file("cert.pem"), file("key.pem"))
	if !await.True(func() bool { return serial() == 8 }) {
		t.Fatal("the new certificate is not used")
	}
	if err := os.WriteFile(file("cert.pem"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(certs.Every + 100*time.Millisecond) // the next connection makes the service read the file
	if n := serial(); n != 8 {
		t.Errorf("with a broken file: certificate %d", n)
	}
	var doc health
	if l.control("GET", "/readyz?verbose", "").into(t, &doc); doc.TLS == nil || !strings.Contains(doc.TLS.Message, "cert.pem") {
		t.Errorf("health does not say that the file is broken: %+v", doc.TLS)
	}
	s := newServer(t, words, Options{TLS: TLS{Cert: file("cert.pem"), Key: file("key.pem")}, Listen: "127.0.0.1:0", AdminListen: "none"})
	if err := s.Run(t.Context()); err == nil {
		t.Error("a service starts with a broken certificate")
	}
}
