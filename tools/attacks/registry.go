package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anchor-host/anchor-host/host/spec"
)

// The addresses of a network without other machines. The registry and another server are public,
// and what a registry must not reach is there, too, so that a request to it is seen.
const (
	registryAt = "203.0.113.1"
	elsewhere  = "203.0.113.2"
	private    = "10.9.9.9"
	metadata   = "169.254.169.254"
	// login is what the client has for the registry.
	login = "Basic dXNlcjpzZWNyZXQ="
	// askedTimeout is the --timeout of pulls.
	askedTimeout = 3 * time.Second
)

// alone are the attributes of a process in a network of its own.
func alone() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if uid := os.Getuid(); uid != 0 { // in a name space of users anybody may make one, on most systems
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
	}
	return a
}

// addAddresses gives the loopback device of this process's network addresses.
func addAddresses(all ...string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for i, text := range slices.Concat([]string{"127.0.0.1"}, all) {
		name := "lo"
		if i > 0 {
			name = fmt.Sprintf("lo:%d", i)
		}
		r, err := unix.NewIfreq(name)
		if err == nil {
			err = r.SetInet4Addr(net.ParseIP(text).To4())
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, unix.SIOCSIFADDR, r)
		}
		if err == nil {
			r.SetUint16(unix.IFF_UP | unix.IFF_LOOPBACK | unix.IFF_RUNNING)
			err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
		}
		if err != nil {
			return fmt.Errorf("address %s: %w", text, err)
		}
	}
	return nil
}

// pulled is how a pull of one attack ended.
type pulled struct {
	Name   string        `json:"name"`
	Took   time.Duration `json:"took"`
	Peak   int64         `json:"peak"`
	Killed string        `json:"killed,omitempty"`
	OK     bool          `json:"ok"`
	Says   string        `json:"says"`
	// Reached are the requests to servers that the registry must not lead to, and Given those of
	// them, and of those to others, that had the user's credentials.
	Reached, Given []string
}

// String formats it.
func (p pulled) String() string {
	text := fmt.Sprintf("%-22s %s, peak %s", p.Name, short(p.Took), mebibytes(p.Peak))
	if p.Killed != "" {
		text += ", " + p.Killed
	}
	if len(p.Reached)+len(p.Given) > 0 {
		text += fmt.Sprintf(", REACHED %q, GAVE CREDENTIALS TO %q", p.Reached, p.Given)
	}
	return fmt.Sprintf("%s, %.140q", text, p.Says)
}

// artifact is a plugin as a registry has it.
type artifact struct{ module, config, manifest []byte }

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// descriptor names a part of a manifest.
func descriptor(mediaType string, b []byte) map[string]any {
	return map[string]any{"mediaType": mediaType, "digest": digest(b), "size": len(b)}
}

// newArtifact makes a plugin of a fixture. Its manifest has the layer so many times.
func newArtifact(root string, layers int) (a artifact, err error) {
	wasm, err := os.ReadFile(filepath.Join(root, "testdata/wasm/keep-first/plugin.wasm"))
	if err != nil {
		return a, err
	}
	a.module, err = spec.Embed(wasm, []byte("abi: 1\nname: keep-first\nversion: 1.0.0\noperations: {filter: {reads: [score]}}\n"))
	if err != nil {
		return a, err
	}
	a.config, _ = json.Marshal(map[string]any{"created": "1970-01-01T00:00:00Z", "architecture": "wasm", "os": "wasip1", "layerDigests": []string{digest(a.module)}})
	a.manifest, err = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": descriptor("application/vnd.wasm.config.v0+json", a.config),
		"layers": slices.Repeat([]any{descriptor("application/wasm", a.module)}, layers),
	})
	return a, err
}

// hostileRegistry has a repository for each attack.
type hostileRegistry struct {
	good, many artifact

	mu             sync.Mutex
	reached, given map[string][]string // by attack
}

// ServeHTTP implements http.Handler.
func (h *hostileRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Split(strings.TrimPrefix(r.URL.Path, "/v2/"), "/")[0]
	if attack, ok := pulls[name]; ok && attack(h, w, r) {
		return
	}
	h.serve(w, r, h.good)
}

// serve answers as an honest registry does.
func (h *hostileRegistry) serve(w http.ResponseWriter, r *http.Request, a artifact) {
	path := r.URL.Path
	switch {
	case path == "/token/own":
		fmt.Fprint(w, `{"token":"given"}`)
	case strings.Contains(path, "/manifests/"):
		manifest(w, a.manifest)
	case strings.HasSuffix(path, digest(a.config)):
		_, _ = w.Write(a.config)
	case strings.HasSuffix(path, digest(a.module)):
		_, _ = w.Write(a.module)
	default:
		http.Error(w, `{"errors":[]}`, http.StatusNotFound)
	}
}

func manifest(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", manifestType)
	w.Header().Set("Docker-Content-Digest", digest(b))
	_, _ = w.Write(b)
}

// near is a server that no registry may lead to, or that may get no credentials.
func (h *hostileRegistry) near(at string, forbidden bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 4096)) // a form may have credentials
		name := r.URL.Query().Get("attack")
		h.mu.Lock()
		if forbidden {
			h.reached[name] = append(h.reached[name], at)
		}
		if r.Header.Get("Authorization") == login || strings.Contains(string(body), "secret") {
			h.given[name] = append(h.given[name], at)
		}
		h.mu.Unlock()
		fmt.Fprint(w, `{"token":"stolen"}`)
	})
}

// pull is an attack. It reports whether it has answered the request.
type pull func(h *hostileRegistry, w http.ResponseWriter, r *http.Request) bool

// The attacks, by the repository in which they are.
var pulls = map[string]pull{
	"honest":            realm("http://" + registryAt + ":5000/token/own"),
	"realm-private":     realm("http://" + private + "/?attack=realm-private"),
	"realm-metadata":    realm("http://" + metadata + "/?attack=realm-metadata"),
	"realm-elsewhere":   realm("http://" + elsewhere + "/?attack=realm-elsewhere"),
	"realm-nobody":      realm("http://" + private + "/?attack=realm-nobody"), // the user is not logged in
	"redirect-private":  redirect("/manifests/", "http://"+private+"/?attack=redirect-private"),
	"redirect-metadata": redirect("/manifests/", "http://"+metadata+"/?attack=redirect-metadata"),
	"redirect-blob":     redirect("/blobs/", "http://"+private+"/?attack=redirect-blob"),
	"redirect-given":    redirect("/blobs/", "http://"+elsewhere+"/?attack=redirect-given"),
	"silent":            at("/manifests/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	"drip":              at("/manifests/", dripped),
	"drip-blob":         at("/blobs/", dripped),
	"retry":             at("/", retry("29")),
	"retry-long":        at("/", retry("1000000")),
	"big-manifest":      at("/manifests/", endless),
	"big-blob":          at("/blobs/", endless),
	"big-error": at("/", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		endless(w, r)
	}),
	"big-token": func(_ *hostileRegistry, w http.ResponseWriter, r *http.Request) bool {
		return realm("http://"+registryAt+":5000/v2/endless-token/")(nil, w, r)
	},
	"endless-token": at("/", endless),
	"gzip-manifest": at("/manifests/", gzipped),
	"deep-manifest": at("/manifests/", func(w http.ResponseWriter, _ *http.Request) {
		manifest(w, []byte(`{"a":`+strings.Repeat("[", 3_900_000)))
	}),
	"values-manifest": at("/manifests/", func(w http.ResponseWriter, _ *http.Request) {
		manifest(w, []byte(`{"layers":[`+strings.Repeat("{},", 1_300_000)+"{}]}"))
	}),
	"indexes": at("/manifests/", func(w http.ResponseWriter, _ *http.Request) {
		const one = `{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:1111111111111111111111111111111111111111111111111111111111111111","size":100}`
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s%s]}`, strings.Repeat(one+",", 20_000), one)
	}),
	"many-layers": func(h *hostileRegistry, w http.ResponseWriter, r *http.Request) bool {
		h.serve(w, r, h.many)
		return true
	},
}

// at answers the requests whose path has a part.
func at(part string, answer http.HandlerFunc) pull {
	return func(_ *hostileRegistry, w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		answer(w, r)
		return true
	}
}

// realm wants tokens that a server makes.
func realm(server string) pull {
	return func(_ *hostileRegistry, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+server+`",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
}

// redirect wants credentials, and then sends the client to a server.
func redirect(part, server string) pull {
	return func(_ *hostileRegistry, w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, part):
			http.Redirect(w, r, server, http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	}
}

// retry asks to come again, as often as the client comes.
func retry(after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// dripped sends a byte a second.
func dripped(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", manifestType)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ") // an error ends the context
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Second)
	}
}

// endless sends as much as the client takes.
func endless(w http.ResponseWriter, r *http.Request) {
	b := bytes.Repeat([]byte(" "), 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

// gzipped sends a GiB in some bytes.
func gzipped(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", manifestType)
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	for range 1 << 10 {
		if _, err := z.Write(make([]byte, 1<<20)); err != nil {
			return
		}
	}
	_ = z.Close() // the client may be gone
}

// registryAttacks has a registry and pulls from it, in a network of its own. With N the client has its
// own timeout.
func registryAttacks(ctx context.Context, j job) (o outcome, err error) {
	if err := addAddresses(registryAt, elsewhere, private, metadata); err != nil {
		return o, err
	}
	h := &hostileRegistry{reached: map[string][]string{}, given: map[string][]string{}}
	if h.good, err = newArtifact(j.Root, 1); err != nil {
		return o, err
	}
	if h.many, err = newArtifact(j.Root, 20_000); err != nil {
		return o, err
	}
	for address, handler := range map[string]http.Handler{
		registryAt + ":5000": h, elsewhere + ":80": h.near(elsewhere, false), private + ":80": h.near(private, true), metadata + ":80": h.near(metadata, true),
	} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return o, err
		}
		go func() { _ = http.Serve(l, handler) }() // until the process ends
	}
	names := slices.DeleteFunc(pullNames(), func(name string) bool { return name == "endless-token" })
	if j.N > 0 {
		names = []string{"silent", "drip", "drip-blob", "retry", "retry-long"}
	}
	o.Pulls = make([]pulled, len(names))
	var wg sync.WaitGroup
	places := make(chan struct{}, 8)
	for i, name := range names {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			o.Pulls[i] = pullOnce(ctx, j, name)
		})
	}
	wg.Wait()
	for i, name := range names {
		o.Pulls[i].Reached, o.Pulls[i].Given = h.reached[name], h.given[name]
	}
	return o, nil
}

func pullNames() (names []string) {
	for name := range pulls {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// pullOnce pulls with a user who is logged in to the registry, but in one attack.
func pullOnce(ctx context.Context, j job, name string) pulled {
	s := &suite{root: j.Root, group: j.Group}
	dir := filepath.Join(j.Dir, name)
	err := os.MkdirAll(filepath.Join(dir, ".docker"), 0o700)
	if err == nil && name != "realm-nobody" {
		err = os.WriteFile(filepath.Join(dir, ".docker", "config.json"), []byte(`{"auths":{"`+registryAt+`:5000":{"auth":"`+strings.TrimPrefix(login, "Basic ")+`"}}}`), 0o600)
	}
	args := []string{"plugin", "save", "--file", filepath.Join(dir, "p.tar"), "--plain-http", registryAt + ":5000", "oci://" + registryAt + ":5000/" + name + "/x:1.0.0"}
	limit := 3 * time.Minute
	if j.N == 0 {
		args, limit = append(args, "--timeout", askedTimeout.String()), 25*time.Second
	}
	var c *command
	if err == nil {
		c, err = s.run(ctx, limit, dir, args...)
	}
	if err != nil {
		return pulled{Name: name, Killed: err.Error()}
	}
	return pulled{Name: name, Took: c.took, Peak: c.peak.Load(), Killed: c.killed, OK: c.cmd.ProcessState.Success(), Says: c.stderr.String()}
}

// pulling is a row of the worst pull. It lists all, or the worst.
func (s *suite) pulling(n int, list bool, figure func(pulled) float64) func(context.Context) (reading, error) {
	return func(ctx context.Context) (r reading, err error) {
		if s.pulls[n] == nil {
			o, err := attack(ctx, job{Role: "registry", Root: s.root, N: n, Dir: filepath.Join(s.dir, fmt.Sprint("pulls", n)), Group: s.group, Alone: true, Length: time.Duration(n) * 30 * time.Second})
			switch {
			case errors.Is(err, os.ErrPermission):
				return reading{skipped: "it needs root, or a system where anybody may make a network name space"}, nil
			case err != nil || o.Killed != "":
				return reading{failed: o.Killed}, err
			}
			s.pulls[n] = o.Pulls
		}
		for _, p := range s.pulls[n] {
			r.add(figure(p), p.String(), list)
			switch {
			case p.Killed != "":
				r.failed = p.Name + ": " + p.Killed
			case p.OK != (p.Name == "honest"):
				r.failed = fmt.Sprintf("%s: success is %t", p.Name, p.OK)
			}
		}
		return r, nil
	}
}

func (p pulled) mebibytes() float64 { return float64(p.Peak) / (1 << 20) }
func (p pulled) seconds() float64   { return p.Took.Seconds() }
func (p pulled) secrets() float64   { return float64(len(p.Given)) }
func (p pulled) nearer() float64    { return float64(len(p.Reached)) }

// registryRows are the attacks of a registry on a client that pulls a plugin.
func (s *suite) registryRows() []row {
	bound := askedTimeout.Seconds() + 1
	rows := []row{
		{"registry/peak", "peak of a pull from a hostile registry, by kind", " MiB", 100, 0, s.pulling(0, true, pulled.mebibytes)},
		{"registry/secrets", "requests that give the user's credentials to other servers", "", 0, 0, s.pulling(0, false, pulled.secrets)},
		{"registry/near", "requests to private addresses and metadata services", "", 0, 0, s.pulling(0, false, pulled.nearer)},
		{"registry/time", "a pull with --timeout 3s ends after", " s", bound, 5 * bound, s.pulling(0, false, pulled.seconds)},
	}
	if s.short {
		return rows
	}
	return append(rows, row{"registry/patience", "a pull without it from one that does not go on ends after", " s", 150, notJudged, s.pulling(1, true, pulled.seconds)})
}
