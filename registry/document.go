package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// maxStamp bounds the first line of a kept document, in bytes.
const maxStamp = 4 << 10

// stamp is the first line of a kept document. The rest of the file is the document.
type stamp struct {
	// Digest is that of the document.
	Digest string `json:"digest"`
	// ETag and Modified are what the server said of its version.
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// kept is a document of the cache.
type kept struct {
	stamp
	text []byte
}

// Document returns the bytes behind an address that begins with https://, such as an index of
// plugins. http:// is only for this machine and for the hosts of Options.PlainHTTP. No credentials
// are sent. The cache keeps the document: a server that says it has not changed does not send it
// again, and an offline client takes what came last. limit is the largest size, in bytes.
//
// check says what is wrong with the document, such as a login page in its place; nil accepts all.
// What it refuses does not replace what the cache has. Document adds the address to its error.
//
// Other errors wrap ErrReference for an address that is not accepted, ErrNotFound, ErrDenied, ErrBusy,
// ErrUnreachable, ErrRedirect, ErrOffline or ErrTooLarge.
func (c *Client) Document(ctx context.Context, address string, limit int64, check func(text []byte) error) ([]byte, error) {
	u, err := c.documentAddress(address)
	if err != nil {
		return nil, errkind.As(ErrReference, fmt.Errorf("address %s: %w", plain.Path(address), err))
	}
	path := c.cache.documentPath(address)
	have := readKept(path, limit)
	if c.options.Offline {
		if have == nil {
			return nil, errkind.As(ErrOffline, fmt.Errorf("%s: is not in the cache and the client is offline: ask once without --offline", plain.Path(address)))
		}
		return have.text, accept(address, have.text, check)
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	now, err := c.newerDocument(ctx, u, have, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plain.Path(address), unsent(err))
	}
	if err := accept(address, now.text, check); err != nil {
		return nil, err
	}
	if now != have {
		err = c.cache.keep(ctx, path, now)
	}
	return now.text, err
}

// accept asks check about a document.
func accept(address string, text []byte, check func([]byte) error) error {
	if check == nil {
		return nil
	}
	if err := check(text); err != nil {
		return fmt.Errorf("%s: %w", plain.Path(address), err)
	}
	return nil
}

// documentAddress checks where a document is.
func (c *Client) documentAddress(address string) (*url.URL, error) {
	if len(address) > longestReference {
		return nil, fmt.Errorf("is longer than %d bytes", longestReference)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, errors.New("is not valid, want https://HOST/PATH")
	}
	if u.User != nil {
		return nil, errors.New("has a user or a password in it, which logs would show: serve the document without them")
	}
	open := loopback(u.Host) || c.plainAllowed(u.Host)
	switch {
	case u.Scheme == "https", u.Scheme == "http" && open:
		return u, nil
	case u.Scheme == "http":
		return nil, fmt.Errorf("is without TLS, which is only accepted from this machine: write https://, or allow it with --plain-http %s", plain.Name(u.Host))
	}
	return nil, fmt.Errorf("begins with %s, want https://", plain.Name(u.Scheme+"://"))
}

// newerDocument asks a server for a document that may be kept already. It returns have if that has
// not changed.
func (c *Client) newerDocument(ctx context.Context, u *url.URL, have *kept, limit int64) (*kept, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "anchor-host")
	if have != nil && have.ETag != "" {
		req.Header.Set("If-None-Match", have.ETag)
	}
	if have != nil && have.Modified != "" {
		req.Header.Set("If-Modified-Since", have.Modified)
	}
	answer, err := c.net.Client(u.Host).Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotModified && have != nil:
		return have, nil
	case answer.StatusCode != http.StatusOK:
		return nil, noDocument(answer.StatusCode)
	case answer.ContentLength > limit:
		return nil, errkind.As(ErrTooLarge, fmt.Errorf("announces %d bytes, the limit is %d", answer.ContentLength, limit))
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, errkind.As(ErrTooLarge, fmt.Errorf("sends more than %d bytes", limit))
	}
	return &kept{text: text, stamp: stamp{
		Digest: image.DigestOf(text), ETag: answer.Header.Get("ETag"), Modified: answer.Header.Get("Last-Modified"),
	}}, nil
}

// unsent marks the error of a request that failed before there was an answer.
func unsent(err error) error {
	for _, known := range []error{ErrDenied, ErrNotFound, ErrBusy, ErrUnreachable, ErrRedirect, ErrTooLarge, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return withoutAddress(err)
		}
	}
	return errkind.As(ErrUnreachable, fmt.Errorf("%w (try again later, or take what came last with --offline)", kind.Safe(withoutAddress(err))))
}

// noDocument says why a server did not send a document, and what to do.
func noDocument(status int) error {
	said := fmt.Errorf("answers %d %s", status, http.StatusText(status))
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return errkind.As(ErrDenied, fmt.Errorf("%w: no credentials are sent, serve it without a login", said))
	case http.StatusNotFound, http.StatusGone:
		return errkind.As(ErrNotFound, fmt.Errorf("%w: check the address", said))
	case http.StatusTooManyRequests:
		return errkind.As(ErrBusy, fmt.Errorf("%w: try again later, or take what came last with --offline", said))
	}
	return errkind.As(ErrUnreachable, fmt.Errorf("%w: try again later, or take what came last with --offline", said))
}

// documentPath is the file of a document in the cache.
func (c *Cache) documentPath(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(c.dir, "documents", hex.EncodeToString(sum[:]))
}

// keep writes a document into the cache.
func (c *Cache) keep(ctx context.Context, path string, k *kept) error {
	line, err := json.Marshal(k.stamp)
	if err != nil {
		return fmt.Errorf("cache: keep a document: %w", err)
	}
	if len(line) >= maxStamp { // a server with such headers is asked for all of it each time
		return nil
	}
	unlock, err := c.use(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cache: make its folder: %w", err)
	}
	return c.replace(path, append(append(line, '\n'), k.text...))
}

// readKept returns the kept document of a file, nil if there is none, or it is damaged or too
// large.
func readKept(path string, limit int64) *kept {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, limit+maxStamp+1))
	line, text, ok := bytes.Cut(all, []byte("\n"))
	k := &kept{text: text}
	if err != nil || !ok || int64(len(text)) > limit || json.Unmarshal(line, &k.stamp) != nil || image.DigestOf(text) != k.Digest {
		return nil
	}
	return k
}
