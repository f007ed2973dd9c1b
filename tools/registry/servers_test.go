// Package registrytest tests package registry against real registries and real clients.
package registrytest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/registry"
)

// server is a registry that runs.
type server struct {
	host  string
	roots *x509.CertPool
	// ca is the file of the certificate, "" for a registry without TLS.
	ca string
}

// ref returns a reference to a repository of the server.
func (s server) ref(repository, tag string) registry.Reference {
	return registry.Reference{Host: s.host, Repository: repository, Tag: tag}
}

// client returns a client with a cache of its own.
func (s server) client(t testing.TB, o registry.Options) *registry.Client {
	t.Helper()
	o.RootCAs = s.roots
	if o.Cache == nil {
		cache, err := registry.OpenCache(filepath.Join(t.TempDir(), "oci"))
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = cache
	}
	c, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// inProcess starts the registry of go-containerregistry, without TLS.
func inProcess(t testing.TB, referrers bool) server {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)), ggcr.WithReferrersSupport(referrers)))
	t.Cleanup(s.Close)
	return server{host: strings.TrimPrefix(s.URL, "http://")}
}

// program returns the path of a program, or skips the test; in CI its absence is an error.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../build/registry", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed: run make test-registry", name)
	}
	t.Skipf("%s is not installed: run make test-registry", name)
	return ""
}

// credentials of docker-registry: "password" with bcrypt.
const passwords = "user:$2a$04$fKapMHPzuRIFCdJSRoz8w.w6qMew5wsa3qcNVx8lcYHBmFvf12slq\n"

// dockerRegistry starts Debian's docker-registry with TLS and basic authentication. Docker's
// config.json holds the credentials.
func dockerRegistry(t testing.TB) server { return startDockerRegistry(t, true) }

func startDockerRegistry(t testing.TB, tls bool) server {
	t.Helper()
	path, dir := program(t, "docker-registry"), t.TempDir()
	s := server{host: freeAddress(t), ca: filepath.Join(dir, "cert.pem")}
	key := filepath.Join(dir, "key.pem")
	s.roots = certificate(t, s.ca, key)
	secured := ""
	if tls {
		secured = fmt.Sprintf(", tls: {certificate: %s, key: %s}", s.ca, key)
	}
	config := fmt.Sprintf(`version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %s}, delete: {enabled: true}}
http: {addr: %s%s}
auth: {htpasswd: {realm: test, path: %s}}
`, filepath.Join(dir, "data"), s.host, secured, filepath.Join(dir, "htpasswd"))
	write(t, filepath.Join(dir, "config.yml"), config)
	write(t, filepath.Join(dir, "htpasswd"), passwords)
	login(t, s.host)
	command := exec.Command(path, "serve", filepath.Join(dir, "config.yml"))
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for range 200 {
		if conn, err := net.Dial("tcp", s.host); err == nil {
			conn.Close()
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("docker-registry does not answer: %s", output.String())
	return s
}

// login writes the credentials of a host into a Docker config.json that all clients read.
func login(t testing.TB, hosts ...string) {
	t.Helper()
	dir := t.TempDir()
	var auths []string
	for _, host := range hosts {
		auths = append(auths, fmt.Sprintf("%q:{%q:%q}", host, "auth", base64.StdEncoding.EncodeToString([]byte("user:password"))))
	}
	write(t, filepath.Join(dir, "config.json"), `{"auths":{`+strings.Join(auths, ",")+`}}`)
	t.Setenv("DOCKER_CONFIG", dir)
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// certificate writes a certificate for this machine and its key.
func certificate(t testing.TB, certFile, keyFile string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})))
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return roots
}

// artifact returns a plugin whose module has size bytes more than the smallest.
func artifact(t testing.TB, version string, size int) *registry.Artifact {
	t.Helper()
	wasm := module(t, fmt.Sprintf("abi: 1\nname: keep-first\nversion: %s\noperations: {filter: {reads: [score]}}\n", version), size)
	a, err := registry.Pack(wasm, registry.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// module returns a module with a manifest, and with size bytes more than it needs.
func module(t testing.TB, manifest string, size int) []byte {
	t.Helper()
	wasm, err := os.ReadFile("../../testdata/wasm/no-change/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if wasm, err = spec.Embed(wasm, []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	if size > 0 {
		content := append([]byte{3, 'p', 'a', 'd'}, make([]byte, size)...)
		_, _ = rand.Read(content[4:])
		wasm = append(wasm, 0)
		for n := len(content); ; n >>= 7 {
			if n < 0x80 {
				wasm = append(wasm, byte(n))
				break
			}
			wasm = append(wasm, byte(n)|0x80)
		}
		wasm = append(wasm, content...)
	}
	return wasm
}

// run runs a client of another project and returns what it prints.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// handler serves an http.Handler on this machine without TLS.
func handler(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}
