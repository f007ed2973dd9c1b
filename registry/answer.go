package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/image"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
	"github.com/anchor-host/anchor-host/registry/internal/outbound"
)

// maxProblem is how many bytes of a registry's error text are read.
const maxProblem = 8 << 10

// get sends one request to a registry. The body of the answer is the caller's to close; answers
// with another status than those wanted are errors.
func (c *Client) get(ctx context.Context, s site, path string, header http.Header, wanted ...int) (*http.Response, error) {
	signer, bare := c.host(ctx, s.host)
	address := url.URL{Scheme: "https", Host: dialName(s.host), Path: "/v2/" + s.repository + "/" + path}
	if bare {
		address.Scheme = "http"
	}
	ctx = auth.AppendScopesForHost(ctx, address.Host, auth.ScopeRepository(s.repository, auth.ActionPull))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.host, err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	answer, err := signer.Do(req)
	if err != nil {
		return nil, c.explain(s.host, err)
	}
	for _, status := range wanted {
		if answer.StatusCode == status {
			return answer, nil
		}
	}
	defer answer.Body.Close()
	return nil, c.explain(s.host, problem(answer))
}

// later is the problem of a registry that asks to come back after a time.
type later struct {
	error
	after time.Duration
}

func (l *later) Unwrap() error { return l.error }

// dialName is the server of a registry: Docker's has another name than its references.
func dialName(host string) string {
	if host == "docker.io" {
		return "registry-1.docker.io"
	}
	return host
}

// problem reads what a registry says of an error.
func problem(answer *http.Response) error {
	e := &errcode.ErrorResponse{Method: answer.Request.Method, URL: answer.Request.URL, StatusCode: answer.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	var body struct {
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"errors"`
	}
	if image.Strict(text, &body) == nil {
		for _, each := range body.Errors {
			e.Errors = append(e.Errors, errcode.Error{Code: each.Code, Message: each.Message})
		}
	}
	if after := outbound.RetryAfter(answer.Header); after > 0 {
		return &later{e, after}
	}
	return e
}

// counted bounds what the documents of a registry take in memory that package remote decodes: lists
// of tags and of attachments.
type counted struct{ remote.Client }

func (c counted) Do(req *http.Request) (*http.Response, error) {
	answer, err := c.Client.Do(req)
	if err != nil || req.Method != http.MethodGet || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, image.MaxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > image.MaxManifest {
		return nil, errkind.As(ErrTooLarge, fmt.Errorf("sends a list of more than %d bytes", image.MaxManifest))
	}
	if err := image.Weigh(text); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return answer, nil
}

// remedy is what to do about a registry that gives no usable answer.
const remedy = "(is the registry up? what is cached installs with --offline)"

// unreachable makes an error one of a registry that gives no usable answer, and says what to do.
func unreachable(err error) error {
	return errkind.As(ErrUnreachable, fmt.Errorf("%w %s", err, remedy))
}

// pushRemedy is remedy for a push, which what is cached does not help.
const pushRemedy = "(is the registry up?)"

// pushFailed gives an error of a push the remedy for pushes.
func pushFailed(err error) error {
	if text, ok := strings.CutSuffix(err.Error(), remedy); ok {
		return errkind.As(err, errors.New(text+pushRemedy))
	}
	return err
}

// errNowhere marks what every server said that it does not have.
var errNowhere = errors.New("found nowhere")

// allFailed says what each of the servers said that were asked one after the other. It is of the
// kind of the last, and says once what to do.
func allFailed(all []error) error {
	last := len(all) - 1
	said := ""
	nowhere := errors.Is(all[last], ErrNotFound)
	for _, err := range all[:last] {
		said += strings.TrimSuffix(err.Error(), " "+remedy) + "; "
		nowhere = nowhere && errors.Is(err, ErrNotFound)
	}
	err := fmt.Errorf("%s%w", said, all[last])
	if nowhere {
		return errkind.As(errNowhere, err)
	}
	return err
}

// webPage is the error of a host that answers with something else than a registry's documents.
func webPage(host string) error {
	return errkind.As(ErrUnreachable, fmt.Errorf("%s: answers with a web page (is there a proxy or a portal between?)", host))
}

// isWebPage says whether a text is HTML or XML. No document of a registry begins like that.
func isWebPage(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("<"))
}

// withoutAddress takes the address of the request out of an error.
func withoutAddress(err error) error {
	for {
		var at *url.Error
		if !errors.As(err, &at) {
			return err
		}
		err = at.Err
	}
}

// explained is explain for an error that may be nil.
func (c *Client) explained(host string, err error) error {
	if err == nil {
		return nil
	}
	return c.explain(host, err)
}

// explain says what went wrong with a request to a host. It names no address beyond the host:
// those of redirects hold secrets.
func (c *Client) explain(host string, err error) error {
	err = withoutAddress(err)
	var refused *errcode.ErrorResponse
	var certificate *tls.CertificateVerificationError
	var syntax *json.SyntaxError
	var unread *credentialError
	switch {
	case errors.As(err, &unread):
		return c.noCredentials(host, unread)
	case errors.As(err, &refused):
		_, given := c.given.Load(dialName(host))
		var after time.Duration
		if asks := (*later)(nil); errors.As(err, &asks) {
			after = asks.after
		}
		return refusal(host, refused, given, after)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return errkind.As(ErrDenied, fmt.Errorf("%s: authentication required, and there are no credentials (log in with: docker login %s)", host, host))
	case errors.Is(err, errdef.ErrNotFound):
		return errkind.As(ErrNotFound, fmt.Errorf("%s: has no such artifact", host))
	case errors.Is(err, ErrRedirect), errors.Is(err, ErrTooLarge), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", host, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return errkind.As(ErrUnreachable, fmt.Errorf("%s: answers without TLS, which is only accepted from this machine or with --plain-http", host))
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "'<'"): // in a list or a token
		return webPage(host)
	case errors.As(err, &certificate): // it is up
		return errkind.As(ErrUnreachable, fmt.Errorf("%s: %w", host, kind.Safe(err)))
	}
	return unreachable(fmt.Errorf("%s: %w", host, kind.Safe(err)))
}

// noCredentials says why there are no credentials for a host.
func (c *Client) noCredentials(host string, err *credentialError) error {
	remedy := ""
	if c.options.Credentials == nil {
		remedy = fmt.Sprintf(" (repair Docker's config.json, or run docker login %s)", host)
	}
	return errkind.As(ErrUnreachable, fmt.Errorf("%s: %w%s", host, kind.Safe(err), remedy))
}

// refusal says why a registry refused a request, and what to do. given says that credentials were
// given for it, and after how long the registry asks to wait.
func refusal(host string, e *errcode.ErrorResponse, given bool, after time.Duration) error {
	said := fmt.Sprintf("%d %s", e.StatusCode, http.StatusText(e.StatusCode))
	var parts []string
	for i, each := range e.Errors {
		if i == 3 {
			break
		}
		parts = append(parts, plain.Excerpt(each.Error()))
	}
	if len(parts) > 0 {
		said += " (" + strings.Join(parts, "; ") + ")"
	}
	if after > 0 {
		said += fmt.Sprintf(", and asks to come back in %s", after)
	}
	switch e.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		why := "it does not exist for this user (log in with"
		if e.StatusCode == http.StatusUnauthorized && given {
			why = "the registry refuses these credentials (log in again with"
		} else if !given {
			why = "it does not exist for users without credentials, and none are given (log in with"
		}
		return errkind.As(ErrDenied, fmt.Errorf("%s: answers %s: %s: docker login %s)", host, said, why, host))
	case http.StatusNotFound:
		return errkind.As(ErrNotFound, fmt.Errorf("%s: answers %s: check repository and version", host, said))
	case http.StatusTooManyRequests:
		return errkind.As(ErrBusy, fmt.Errorf("%s: answers %s: log in for a higher limit, or try again later", host, said))
	case http.StatusRequestEntityTooLarge:
		return errkind.As(ErrTooLarge, fmt.Errorf("%s: answers %s", host, said))
	}
	err := fmt.Errorf("%s: answers %s", host, said)
	if e.StatusCode >= http.StatusInternalServerError {
		return unreachable(err)
	}
	return errkind.As(ErrUnreachable, err)
}
