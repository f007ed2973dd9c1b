package httpembed

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/apiclient"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Options are those of [New]. Only BaseURL and Model are required.
type Options struct {
	// BaseURL is the address of the API, to which /embeddings is added, such as
	// https://api.openai.com/v1.
	BaseURL string
	// Model is the name of the model, as the server knows it.
	Model string
	// Key is sent as "Authorization: Bearer KEY". It may be empty.
	Key string
	// Headers are sent too. Their values are secrets, like Key, and so is what follows the
	// first space in one, as in "Bearer KEY".
	Headers map[string]string
	// Secrets are parts of Key and Headers that no error may show either.
	Secrets []string
	// Dimensions asks for vectors of this dimension. 0 means that of the model, which the
	// first answer tells.
	Dimensions int
	// QueryPrefix and DocumentPrefix begin each text of a side, if the model expects that.
	QueryPrefix, DocumentPrefix string
	// Batch is the largest number of texts in one request. 0 means 32.
	Batch int
	// BatchBytes is the largest size of the texts in one request in bytes. A longer text is
	// sent alone. 0 means 256 KiB.
	BatchBytes int
	// Concurrency is how many requests run at the same time. 0 means 4.
	Concurrency int
	// Rate is the largest number of requests in a second. 0 means no limit.
	Rate float64
	// Timeout is that of one request, its answer included. 0 means 30 seconds.
	Timeout time.Duration
	// Retries is how often a request is repeated. 0 means 4, and a negative number never.
	Retries int
	// Cache is how many bytes of vectors are kept in memory for texts that come again, those of
	// questions above all. Calls with more than Batch texts, as ingestion makes them, are not
	// kept. 0 means 16 MiB, and a negative number nothing.
	Cache int
	// Encoding, if not empty, asks for answers in this form: "float" or "base64". Both are
	// understood in any case.
	Encoding string

	pause time.Duration // before the first repetition, for tests
}

func (o Options) complete() (Options, error) {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return o, fmt.Errorf("base_url: %w (want an address such as https://api.openai.com/v1, without a password)", retrieve.ErrInvalid)
	}
	o.Batch, o.BatchBytes, o.Cache = cmp.Or(o.Batch, 32), cmp.Or(o.BatchBytes, 256<<10), cmp.Or(o.Cache, 16<<20)
	o.Concurrency, o.Timeout, o.Retries = cmp.Or(o.Concurrency, 4), cmp.Or(o.Timeout, 30*time.Second), cmp.Or(o.Retries, 4)
	if o.Batch < 1 || o.BatchBytes < 1 || o.Concurrency < 1 || o.Timeout < 0 || !(o.Rate >= 0) {
		return o, fmt.Errorf("batch, batch_bytes, concurrency, timeout, rate: %w (none may be negative)", retrieve.ErrInvalid)
	}
	if o.Dimensions < 0 || o.Dimensions > retrieve.MaxDimension {
		return o, fmt.Errorf("dimensions %d: %w (want 1 to %d)", o.Dimensions, retrieve.ErrInvalid, retrieve.MaxDimension)
	}
	if o.Encoding != "" && o.Encoding != "float" && o.Encoding != "base64" {
		return o, fmt.Errorf("encoding %.20q: %w (want float or base64)", o.Encoding, retrieve.ErrInvalid)
	}
	m := retrieve.Model{ID: o.id(), Dimension: cmp.Or(o.Dimensions, 1)}
	return o, m.Validate()
}

// id names the model with what changes its vectors: the prefixes. The dimension is a part of
// [retrieve.Model] itself. The server is not, because the same model may move to another one.
func (o *Options) id() string {
	if o.QueryPrefix == "" && o.DocumentPrefix == "" {
		return o.Model
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", o.QueryPrefix, o.DocumentPrefix))
	return o.Model + "+prefix-" + hex.EncodeToString(sum[:4])
}

// address returns the address of requests, and the one that errors show.
func (o *Options) address() (request, shown string) {
	u, _ := url.Parse(o.BaseURL) // complete has parsed it
	u.Fragment = ""
	base := strings.TrimSuffix(u.Path, "/")
	u.Path, u.RawPath = base+"/embeddings", ""
	request = u.String()
	u.Path, u.RawQuery = base, ""
	return request, u.String()
}

// header returns what is sent with each request, and what of it no error may show.
func (o *Options) header() (http.Header, []string, error) {
	h, secrets, err := apiclient.Header(o.Headers)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", retrieve.ErrInvalid, err)
	}
	if err := apiclient.CheckValue(o.Key); err != nil {
		return nil, nil, fmt.Errorf("key: %w: %w", retrieve.ErrInvalid, err)
	}
	if o.Key != "" {
		h.Set("Authorization", "Bearer "+o.Key)
	}
	return h, slices.Concat(secrets, o.Secrets, []string{o.Key}), nil
}
