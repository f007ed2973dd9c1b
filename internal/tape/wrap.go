package tape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// Embedder returns the embedder of a name as the tape hears or tells it. real is nil for a tape
// that plays.
func (t *Tape) Embedder(name string, real retrieve.Embedder) retrieve.Embedder {
	return embedder{t, name, real}
}

type embedder struct {
	t    *Tape
	name string
	real retrieve.Embedder
}

func (e embedder) Model(ctx context.Context) (retrieve.Model, error) {
	return ask(e.t, "embedder.model", e.name, func() (retrieve.Model, error) { return e.real.Model(ctx) })
}

func (e embedder) Embed(ctx context.Context, side retrieve.Side, texts []string) ([][]float32, error) {
	return ask(e.t, "embedder.embed", []any{e.name, side, texts}, func() ([][]float32, error) { return e.real.Embed(ctx, side, texts) })
}

// Close closes what the embedder keeps open.
func (e embedder) Close() {
	if c, ok := e.real.(interface{ Close() }); ok {
		c.Close()
	}
}

// Models returns models as the tape hears or tells them.
func (t *Tape) Models(real service.Models) service.Models { return models{t, real} }

type models struct {
	t    *Tape
	real service.Models
}

func (m models) Ask(ctx context.Context, q service.Question) (service.Reply, error) {
	return ask(m.t, "model", []any{q.Plugin, q.Tenant, q.LLMRequest}, func() (service.Reply, error) { return m.real.Ask(ctx, q) })
}

// Index returns an index as the tape hears or tells it. real is nil for a tape that plays.
func (t *Tape) Index(real retrieve.Index) retrieve.Index { return index{real, t} }

type index struct {
	retrieve.Index
	t *Tape
}

func (x index) Collections(ctx context.Context, tenant string) ([]retrieve.CollectionInfo, error) {
	return ask(x.t, "collections", tenant, func() ([]retrieve.CollectionInfo, error) { return x.Index.Collections(ctx, tenant) })
}

func (x index) Collection(ctx context.Context, c retrieve.Collection) (retrieve.CollectionInfo, error) {
	return ask(x.t, "collection", c, func() (retrieve.CollectionInfo, error) { return x.Index.Collection(ctx, c) })
}

func (x index) Document(ctx context.Context, c retrieve.Collection, id string) (retrieve.Document, error) {
	return ask(x.t, "document", []any{c, id}, func() (retrieve.Document, error) { return x.Index.Document(ctx, c, id) })
}

func (x index) Search(ctx context.Context, c retrieve.Collection, q retrieve.Query) ([]retrieve.Hit, error) {
	return ask(x.t, "search", []any{c, q}, func() ([]retrieve.Hit, error) { return x.Index.Search(ctx, c, q) })
}

func (x index) Settings(ctx context.Context, c retrieve.Collection) (retrieve.Settings, error) {
	return ask(x.t, "settings", c, func() (retrieve.Settings, error) { return x.Index.Settings(ctx, c) })
}

// A tape that plays forgets what is written.

func (x index) write(real func() error) error {
	if x.t.playing {
		return nil
	}
	return real()
}

func (x index) Create(ctx context.Context, c retrieve.Collection, s retrieve.Settings) error {
	return x.write(func() error { return x.Index.Create(ctx, c, s) })
}

func (x index) Remove(ctx context.Context, c retrieve.Collection) error {
	return x.write(func() error { return x.Index.Remove(ctx, c) })
}

func (x index) SetModel(ctx context.Context, c retrieve.Collection, m retrieve.Model) error {
	return x.write(func() error { return x.Index.SetModel(ctx, c, m) })
}

func (x index) Upsert(ctx context.Context, c retrieve.Collection, docs ...retrieve.Document) error {
	return x.write(func() error { return x.Index.Upsert(ctx, c, docs...) })
}

func (x index) Delete(ctx context.Context, c retrieve.Collection, ids ...string) (int, error) {
	return ask(x.t, "delete", []any{c, ids}, func() (int, error) { return x.Index.Delete(ctx, c, ids...) })
}

func (x index) SetRoot(ctx context.Context, c retrieve.Collection, from, to string) error {
	return x.write(func() error { return x.Index.SetRoot(ctx, c, from, to) })
}

func (x index) Compact(ctx context.Context, c retrieve.Collection) error {
	return x.write(func() error { return x.Index.Compact(ctx, c) })
}

// errList is the error of lists of documents, which no build reads.
var errList = errors.New("a recording has no lists of documents")

func (x index) Documents(ctx context.Context, c retrieve.Collection, ids retrieve.IDs) iter.Seq2[retrieve.DocumentInfo, error] {
	if x.t.playing {
		return func(yield func(retrieve.DocumentInfo, error) bool) { yield(retrieve.DocumentInfo{}, errList) }
	}
	return x.Index.Documents(ctx, c, ids)
}

func (x index) Export(ctx context.Context, c retrieve.Collection) iter.Seq2[retrieve.Document, error] {
	if x.t.playing {
		return func(yield func(retrieve.Document, error) bool) { yield(retrieve.Document{}, errList) }
	}
	return x.Index.Export(ctx, c)
}

// Store returns a store as the tape hears or tells it. A store that is told accepts what is
// written and forgets it. real is nil for a tape that plays.
func (t *Tape) Store(real store.Store) store.Store { return &recordStore{real, t} }

// Unwrap returns the store that the tape hears, nil for none.
func Unwrap(s store.Store) store.Store {
	if r, ok := s.(*recordStore); ok {
		return r.Store
	}
	return s
}

type recordStore struct {
	store.Store
	t *Tape
}

type page struct {
	Key   store.Key
	After int64
	Limit int
}

func (s *recordStore) Read(ctx context.Context, key store.Key, after int64, limit int) ([]store.Record, error) {
	return ask(s.t, "store.read", page{key, after, limit}, func() ([]store.Record, error) { return s.Store.Read(ctx, key, after, limit) })
}

func (s *recordStore) Last(ctx context.Context, key store.Key, n int) ([]store.Record, error) {
	return ask(s.t, "store.last", page{Key: key, Limit: n}, func() ([]store.Record, error) { return s.Store.Last(ctx, key, n) })
}

func (s *recordStore) Get(ctx context.Context, key store.Key, id string) (store.Record, error) {
	return ask(s.t, "store.get", []any{key, id}, func() (store.Record, error) { return s.Store.Get(ctx, key, id) })
}

func (s *recordStore) Keys(ctx context.Context, tenant, kind string) ([]store.Key, error) {
	return ask(s.t, "store.keys", []string{tenant, kind}, func() ([]store.Key, error) { return s.Store.Keys(ctx, tenant, kind) })
}

func (s *recordStore) LastSeqs(ctx context.Context, tenant string) (map[store.Key]int64, error) {
	if c, ok := s.Store.(store.Counter); ok && !s.t.playing {
		return c.LastSeqs(ctx, tenant)
	}
	return nil, errors.New("a recording has no numbers of a store")
}

func (s *recordStore) Append(ctx context.Context, key store.Key, recs ...store.Record) (int64, error) {
	return ask(s.t, "store.append", []any{key, len(recs)}, func() (int64, error) { return s.Store.Append(ctx, key, recs...) })
}

func (s *recordStore) Put(ctx context.Context, key store.Key, rec store.Record) error {
	return s.write(func() error { return s.Store.Put(ctx, key, rec) })
}

func (s *recordStore) Apply(ctx context.Context, changes ...store.Change) error {
	return s.write(func() error { return s.Store.Apply(ctx, changes...) })
}

func (s *recordStore) Delete(ctx context.Context, key store.Key, ids ...string) (int, error) {
	return ask(s.t, "store.delete", []any{key, ids}, func() (int, error) { return s.Store.Delete(ctx, key, ids...) })
}

func (s *recordStore) Clear(ctx context.Context, key store.Key) (int, error) {
	return ask(s.t, "store.clear", key, func() (int, error) { return s.Store.Clear(ctx, key) })
}

func (s *recordStore) write(real func() error) error {
	if s.t.playing {
		return nil
	}
	return real()
}

func (s *recordStore) Close() error { return s.write(func() error { return s.Store.Close() }) }

// Transport answers the HTTP requests of plugins from the tape, and sends nothing.
func (t *Tape) Transport() http.RoundTripper { return transport{t} }

type transport struct{ t *Tape }

func (x transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close() // it was read
		if err != nil {
			return nil, err
		}
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	for i := range x.t.http {
		h := &x.t.http[i]
		if h.Method == r.Method && like(h.URL, r.URL.String()) && like(string(h.Body), string(body)) {
			answer := *h
			x.t.http = append(x.t.http[:i:i], x.t.http[i+1:]...)
			return response(r, &answer)
		}
	}
	asked := fmt.Sprintf("http: %s %s://%s%s", r.Method, r.URL.Scheme, r.URL.Host, r.URL.Path)
	x.t.unknown = append(x.t.unknown, asked)
	return nil, fmt.Errorf("replay: %s was asked, and is not in the recording", asked)
}

// response makes the response of an exchange.
func response(r *http.Request, h *record.HTTP) (*http.Response, error) {
	if h.Status == 0 {
		return nil, fmt.Errorf("replay: the recorded request failed: %s", h.Failure)
	}
	out := &http.Response{
		StatusCode: h.Status, Status: http.StatusText(h.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(h.ResponseBody)), ContentLength: int64(len(h.ResponseBody)),
	}
	for name, value := range h.ResponseHeaders {
		out.Header.Set(name, value) // all of them, because the plugin uses fuel to read them
	}
	return out, nil
}

// like reports whether a text is as recorded, where asterisks stand for any secret.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, record.Hidden)
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, last)
}
