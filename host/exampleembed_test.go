package host_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// loadExample makes a host and loads a plugin of testdata.
func loadExample(cfg host.Config, name string, plugin host.PluginConfig) (*host.Host, *host.Plugin) {
	cfg.CacheDir = host.CacheOff
	ctx := context.Background()
	h, err := host.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	spec, err := spec.ReadFile("../testdata/wasm/" + name + "/plugin.wasm")
	if err != nil {
		log.Fatal(err)
	}
	p, err := h.Load(ctx, spec, plugin)
	if err != nil {
		log.Fatal(err)
	}
	return h, p
}

// What plugins did and hold, for a page or a metric.
func ExampleHost_Stats() {
	ctx := context.Background()
	h, p := loadExample(host.Config{}, "foreign", host.PluginConfig{})
	defer h.Close(ctx)
	for _, input := range []string{"one", "two"} {
		if _, err := p.Call(ctx, "echo", []byte(input)); err != nil {
			log.Fatal(err)
		}
	}
	for _, s := range h.Stats().Plugins {
		fmt.Printf("%s: %d good calls, %d timeouts, %d bytes in, %d waiting\n", s.Plugin, s.OK, s.Failed[abi.ReasonTimeout], s.BytesIn, s.Waiting)
	}
	// Output: foreign: 2 good calls, 0 timeouts, 6 bytes in, 0 waiting
}

// What belongs to one request, such as where its figures go, travels in the context of its
// calls. Config.OnCall finds it there.
func ExampleConfig_onCall_request() {
	type sink struct{}
	ctx := context.Background()
	h, p := loadExample(host.Config{
		OnCall: func(ctx context.Context, c host.CallInfo) {
			if calls, ok := ctx.Value(sink{}).(*[]string); ok {
				*calls = append(*calls, string(c.Operation))
			}
		},
	}, "foreign", host.PluginConfig{})
	defer h.Close(ctx)
	var mine []string
	request := context.WithValue(host.WithTenant(ctx, "acme"), sink{}, &mine)
	for _, c := range []context.Context{ctx, request} {
		if _, err := p.Call(c, "echo", nil); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(mine)
	// Output: [echo]
}

// A function that sees every call.
func ExampleConfig_onCall() {
	ctx := context.Background()
	h, p := loadExample(host.Config{
		OnCall: func(_ context.Context, c host.CallInfo) {
			fmt.Printf("%s of %s for %s: %d bytes in, reason %q\n", c.Operation, c.Plugin, c.Tenant, c.BytesIn, c.Reason)
		},
	}, "foreign", host.PluginConfig{})
	defer h.Close(ctx)
	if _, err := p.Call(host.WithTenant(ctx, "acme"), "echo", []byte("hello")); err != nil {
		log.Fatal(err)
	}
	// Output: echo of foreign for acme: 5 bytes in, reason ""
}

// tripFunc is a function as a transport.
type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A transport of the embedder sends what the grant allows.
func ExampleConfig_httpTransport() {
	ctx := context.Background()
	audited := tripFunc(func(req *http.Request) (*http.Response, error) {
		fmt.Println(req.Method, req.URL) // a real one goes on to another transport
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("sunny"))}, nil
	})
	h, p := loadExample(host.Config{HTTPTransport: audited}, "foreign-http",
		host.PluginConfig{Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"weather.example.com"}}}})
	defer h.Close(ctx)
	r, err := p.Call(ctx, "get", []byte(`{"url":"https://weather.example.com/today"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", r.Output)
	_, err = p.Call(ctx, "get", []byte(`{"url":"https://example.org/"}`))
	fmt.Println(err)
	// Output:
	// GET https://weather.example.com/today
	// sunny
	// plugin "foreign-http": get: denied: http to "https://example.org" is not permitted (grant it with grants.http.hosts)
}

// tableStore keeps all in a map; a real one would write to a database.
type tableStore struct {
	mu   sync.Mutex
	rows map[host.KVOwner]map[string][]byte
}

func (s *tableStore) Get(_ context.Context, owner host.KVOwner, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[owner][key], nil
}

func (s *tableStore) Set(_ context.Context, owner host.KVOwner, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[owner] == nil {
		s.rows[owner] = map[string][]byte{}
	}
	s.rows[owner][key] = value
	return nil
}

func (s *tableStore) Delete(_ context.Context, owner host.KVOwner, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows[owner], key)
	return nil
}

func (s *tableStore) Usage(_ context.Context, owner host.KVOwner) (keys, bytes int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, value := range s.rows[owner] {
		keys, bytes = keys+1, bytes+int64(len(key)+len(value))
	}
	return keys, bytes, nil
}

func (s *tableStore) Forget(_ context.Context, tenant string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for owner := range s.rows {
		if owner.Tenant == tenant {
			delete(s.rows, owner)
		}
	}
	return nil
}

// A store of the embedder outlives the host.
func ExampleKVStore() {
	ctx := host.WithTenant(context.Background(), "acme")
	kept := &tableStore{rows: map[host.KVOwner]map[string][]byte{}}
	grants := host.PluginConfig{Grants: host.Grants{KV: &host.KVGrant{}}}
	h, p := loadExample(host.Config{KVStore: kept}, "foreign-kv", grants)
	if _, err := p.Call(ctx, "set", []byte("color=green")); err != nil {
		log.Fatal(err)
	}
	h.Close(ctx)
	h, p = loadExample(host.Config{KVStore: kept}, "foreign-kv", grants)
	defer h.Close(ctx)
	r, err := p.Call(ctx, "get", []byte("color"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", r.Output)
	// Output: green
}

// Files of the embedder, such as those of an embed.FS, as a folder of a plugin.
func ExampleFileGrant() {
	ctx := context.Background()
	docs := fstest.MapFS{"greeting.txt": {Data: []byte("hello from Go")}}
	h, p := loadExample(host.Config{}, "foreign-file", host.PluginConfig{
		WASI: true, Grants: host.Grants{Files: []host.FileGrant{{FS: docs, Guest: "/docs"}}}})
	defer h.Close(ctx)
	r, err := p.Call(ctx, "read", []byte("greeting.txt"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", r.Output)
	// Output: hello from Go
}
