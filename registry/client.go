package registry

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/outbound"
)

const (
	// DefaultMaxModule is the default of Options.MaxModule, in bytes.
	DefaultMaxModule = 64 << 20
	// DefaultTimeout is the default of Options.Timeout.
	DefaultTimeout = 10 * time.Minute
)

// Options are the options of a client. The zero value is usable.
type Options struct {
	// Cache is where artifacts are kept; nil is the cache in the folder of DefaultCacheDir.
	Cache *Cache
	// Offline answers from the cache alone. No socket is opened.
	Offline bool
	// PlainHTTP are the registries, as references name them, that are asked without TLS.
	// Registries on this machine are asked without TLS if they do not speak it.
	PlainHTTP []string
	// Mirrors are, for a registry, the servers that are asked before it when something is pulled,
	// in this order. A mirror is a host, or a host and the beginning of a path, such as
	// "mirror.example/ghcr". What it sends is held against digests, but it says which digest a
	// tag has.
	Mirrors map[string][]string
	// Credentials returns the credentials for a host with an optional port. nil asks Docker's
	// config.json and the credential helpers that it names.
	Credentials func(ctx context.Context, host string) (Credential, error)
	// MaxModule is the largest module that is pulled, in bytes; 0 is DefaultMaxModule.
	MaxModule int64
	// Timeout is how long one call may take, such as one Pull, with all that is asked again and
	// waited for. 0 is DefaultTimeout, and less than 0 no limit. A request during which next to
	// nothing moves for a minute ends earlier.
	Timeout time.Duration
	// Tell, if not nil, is told in a line when a registry makes the client wait, and for how long.
	Tell func(line string)
	// Progress, if not nil, is told how far a download or an upload is. Calls for one of them come
	// one after the other, those for several may come at the same time.
	Progress func(Progress)
	// RootCAs are the authorities whose certificates are accepted; nil takes those of the system.
	RootCAs *x509.CertPool
	// Proxy chooses the proxy of a request; nil obeys HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
}

// Credential is what a registry wants to know of its user. The zero value is none.
type Credential struct {
	// Username and Password are the usual pair; for most registries the password is a token.
	Username, Password string
	// RefreshToken is exchanged for access tokens, where a registry gives such.
	RefreshToken string
	// AccessToken is sent as it is.
	AccessToken string
}

// Progress is how far one download or upload is.
type Progress struct {
	// Reference is what is pulled or pushed.
	Reference Reference
	// Upload says that bytes are sent, not received.
	Upload bool
	// Done and Total are bytes. Done becomes smaller when a transfer has to start again.
	Done, Total int64
}

// Client pulls and pushes artifacts. It is safe for concurrent use. Close it when it is no longer
// needed.
type Client struct {
	options Options
	cache   *Cache
	net     *outbound.Transport

	mu    sync.Mutex
	hosts map[string]*host
	// given has the servers for which there are credentials.
	given sync.Map
}

// host is a server and how it is spoken to.
type host struct {
	auth *auth.Client

	mu sync.Mutex
	// plain says that the server is asked without TLS, known that this is known.
	plain, known bool
}

// New returns a client. Nothing is read or sent before it is used. The error says what is wrong
// with the options.
func New(o Options) (*Client, error) {
	if o.Cache == nil {
		cache, err := OpenCache("")
		if err != nil {
			return nil, err
		}
		o.Cache = cache
	}
	o.MaxModule = cmp.Or(o.MaxModule, DefaultMaxModule)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.MaxModule < 0 {
		return nil, fmt.Errorf("options: MaxModule: is %d, want more than 0", o.MaxModule)
	}
	for origin, mirrors := range o.Mirrors {
		for _, m := range mirrors {
			if _, err := mirrorSite(m, Reference{Repository: "repository"}); err != nil {
				return nil, fmt.Errorf("mirrors: %s: %w", origin, err)
			}
		}
	}
	c := &Client{options: o, cache: o.Cache, hosts: map[string]*host{}}
	if !o.Offline {
		c.net = outbound.New(o.Proxy, &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12})
		// A name of this machine may mean another one to the resolver.
		c.net.Near = func(host string) bool { return loopback(host) && !c.plainAllowed(host) }
		c.net.Tell = o.Tell
	}
	return c, nil
}

// Close closes the connections that are kept for later requests.
func (c *Client) Close() {
	if c.net != nil {
		c.net.Close()
	}
}

// Cache returns the cache of the client.
func (c *Client) Cache() *Cache { return c.cache }

// online refuses what needs a registry while the client is offline.
func (c *Client) online(ref Reference) error {
	if c.options.Offline {
		return errkind.As(ErrOffline, fmt.Errorf("%s: is not in the cache and the client is offline: pull it once without --offline, or load an archive that has it", ref))
	}
	return nil
}

// within bounds a call by Options.Timeout.
func (c *Client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.options.Timeout < 0 || c.options.Offline {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.options.Timeout, errkind.As(context.DeadlineExceeded, fmt.Errorf("it took longer than %s (raise --timeout)", c.options.Timeout)))
}

// site is one place that may have a repository: the registry of the reference, or a mirror.
type site struct{ host, repository string }

// sites returns where to ask for a reference, mirrors first.
func (c *Client) sites(ref Reference) []site {
	var all []site
	for _, m := range c.options.Mirrors[ref.Host] {
		if s, err := mirrorSite(m, ref); err == nil {
			all = append(all, s)
		}
	}
	return append(all, site{ref.Host, ref.Repository})
}

func mirrorSite(mirror string, ref Reference) (site, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(mirror, Scheme), "/")
	repository := ref.Repository
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		repository = prefix + "/" + repository
	}
	parsed, err := ParseReference(name + "/" + repository)
	return site{parsed.Host, parsed.Repository}, err
}

// repository returns the client of oras for one repository.
func (c *Client) repository(ctx context.Context, s site) *remote.Repository {
	signer, bare := c.host(ctx, s.host)
	return &remote.Repository{
		Client: counted{signer}, PlainHTTP: bare,
		Reference:       registry.Reference{Registry: s.host, Repository: s.repository},
		TagListMaxPages: maxPages, ReferrerListMaxPages: maxPages, MaxMetadataBytes: image.MaxManifest,
		// Many registries refuse to delete, which would fail a push that has succeeded.
		SkipReferrersGC: true,
	}
}

// maxPages is how many pages of a list are read.
const maxPages = 20

// host finds out how a server is spoken to: with which credentials, and whether without TLS.
func (c *Client) host(ctx context.Context, name string) (signer *auth.Client, bare bool) {
	c.mu.Lock()
	h := c.hosts[name]
	if h == nil {
		h = &host{auth: c.authenticator(name)}
		c.hosts[name] = h
	}
	c.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known {
		h.plain, h.known = c.speaksPlain(ctx, name)
	}
	return h.auth, h.plain
}

// speaksPlain says whether a server is asked without TLS: if the options say so, or if it is on
// this machine and answers HTTP to a TLS greeting, or hangs up on that and answers HTTP without.
// Nothing secret is sent to find out. known is false if the server did not answer.
func (c *Client) speaksPlain(ctx context.Context, name string) (speaks, known bool) {
	if c.plainAllowed(name) {
		return true, true
	}
	if !loopback(name) {
		return false, true
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := c.greet(ctx, "https://"+name+"/v2/")
	switch {
	case err == nil:
		return false, true
	case errors.Is(err, http.ErrSchemeMismatch):
		return true, true
	case brokeOff(err):
		status, err := c.greet(ctx, "http://"+name+"/v2/")
		speaks = err == nil && status != http.StatusBadRequest // servers with TLS answer so
		return speaks, speaks
	}
	return false, false
}

// plainAllowed says whether the options have a server asked without TLS.
func (c *Client) plainAllowed(name string) bool {
	return slices.ContainsFunc(c.options.PlainHTTP, func(p string) bool { return strings.EqualFold(p, name) })
}

// greet sends one request without credentials, to see whether there is an answer.
func (c *Client) greet(ctx context.Context, address string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return 0, err
	}
	greeter := http.Client{Transport: c.net.Direct(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := greeter.Do(req)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// authenticator returns what signs requests to one host, with its credentials alone: a page of a
// list may be on another one. Where its tokens may come from is for package outbound to say, at
// the connection: what a name meant earlier says nothing.
func (c *Client) authenticator(name string) *auth.Client {
	own := func(ctx context.Context, host string) (auth.Credential, error) {
		if host != dialName(name) {
			return auth.EmptyCredential, nil
		}
		return c.credential(ctx, host)
	}
	return &auth.Client{Client: c.net.Client(dialName(name)), Cache: auth.NewCache(), ClientID: "anchor-host", Credential: own,
		Header: http.Header{"User-Agent": {"anchor-host"}}, BlockedRealmPrefixes: []netip.Prefix{}}
}

// credentialError is a failure to find out credentials.
type credentialError struct{ error }

func (e *credentialError) Unwrap() error { return e.error }

// credential asks for the credentials of a host, and notes that there are some.
func (c *Client) credential(ctx context.Context, host string) (auth.Credential, error) {
	ask := c.options.Credentials
	if ask == nil {
		ask = dockerCredential
	}
	cred, err := ask(ctx, host)
	if err != nil {
		return auth.Credential{}, &credentialError{err}
	}
	if cred != (Credential{}) {
		c.given.Store(host, true)
	}
	return auth.Credential(cred), nil
}

// dockerCredential asks Docker's config.json and the credential helpers that it names.
func dockerCredential(ctx context.Context, host string) (Credential, error) {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return Credential{}, fmt.Errorf("read Docker's config.json: %w", err)
	}
	cred, err := credentials.Credential(store)(ctx, host)
	if err != nil {
		return Credential{}, fmt.Errorf("get its credentials from %s: %w", store.ConfigPath(), err)
	}
	return Credential(cred), nil
}
