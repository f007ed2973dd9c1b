package httpembed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vectorOf is the vector that the fake server gives for a text.
func vectorOf(text string) []float32 {
	v := []float32{float32(len(text)), -0.25, 1.5e-7}
	for _, c := range text {
		v[1] += float32(c)
	}
	return v
}

func base64Of(v []float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// fake is a server that answers as the API says, unless answer says otherwise.
type fake struct {
	*httptest.Server
	requests atomic.Int32
	running  atomic.Int32
	most     atomic.Int32
	mu       sync.Mutex
	batches  []int
	texts    []string
	answer   func(n int, w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

func serve(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request) bool) *fake {
	f := &fake{answer: answer}
	f.Server = httptest.NewServer(http.HandlerFunc(f.embed))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) embed(w http.ResponseWriter, r *http.Request) {
	n := int(f.requests.Add(1))
	now := f.running.Add(1)
	defer f.running.Add(-1)
	for most := f.most.Load(); now > most && !f.most.CompareAndSwap(most, now); most = f.most.Load() {
	}
	body, err := io.ReadAll(r.Body) // a server notices only then that its client hangs up
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil || f.answer != nil && f.answer(n, w, r) {
		return
	}
	var q request
	if err := json.Unmarshal(body, &q); err != nil || r.URL.Path != "/v1/embeddings" || r.Method != http.MethodPost || q.Model != "m" {
		http.Error(w, fmt.Sprintf("bad request %s %s %+v: %v", r.Method, r.URL.Path, q, err), http.StatusTeapot)
		return
	}
	f.mu.Lock()
	f.batches = append(f.batches, len(q.Input))
	f.texts = append(f.texts, q.Input...)
	f.mu.Unlock()
	var data []string
	for i := len(q.Input) - 1; i >= 0; i-- { // the index tells the place, not the order
		v, _ := json.Marshal(vectorOf(q.Input[i]))
		if q.Encoding == "base64" {
			v, _ = json.Marshal(base64Of(vectorOf(q.Input[i])))
		}
		data = append(data, fmt.Sprintf(`{"object": "embedding", "embedding": %s, "index": %d}`, v, i))
	}
	fmt.Fprintf(w, `{"object": "list", "data": [%s], "model": "m", "usage": {"prompt_tokens": 5}}`, strings.Join(data, ",\n"))
}

func (f *fake) embedder(t *testing.T, change func(*Options)) *Embedder {
	t.Helper()
	o := Options{BaseURL: f.URL + "/v1/", Model: "m", Key: "sk-secret", pause: time.Millisecond}
	if change != nil {
		change(&o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat("x", i+1)
	}
	return out
}

func TestEmbed(t *testing.T) {
	for name, encoding := range map[string]string{"float": "", "base64": "base64"} {
		t.Run(name, func(t *testing.T) {
			f := serve(t, nil)
			e := f.embedder(t, func(o *Options) { o.Encoding, o.Batch, o.DocumentPrefix, o.QueryPrefix = encoding, 3, "d: ", "q: " })
			have, err := retrieve.Embed(t.Context(), e, retrieve.SideDocument, texts(10))
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts(10) {
				if !reflect.DeepEqual(have[i], vectorOf("d: "+text)) {
					t.Errorf("%s: %v", text, have[i])
				}
			}
			have, err = retrieve.Embed(t.Context(), e, retrieve.SideQuery, []string{"why"})
			if err != nil || !reflect.DeepEqual(have[0], vectorOf("q: why")) {
				t.Errorf("a question: %v, %v", have, err)
			}
			m, err := e.Model(t.Context())
			if err != nil || m.Dimension != 3 || !strings.HasPrefix(m.ID, "m+prefix-") || f.requests.Load() != 6 {
				t.Errorf("%v, %v, %d requests", m, err, f.requests.Load())
			}
		})
	}
}

// Batches are bounded by their number of texts and by their bytes, and an empty text is not sent.
func TestBatches(t *testing.T) {
	f := serve(t, nil)
	e := f.embedder(t, func(o *Options) { o.BatchBytes, o.Concurrency, o.Dimensions = 10, 1, 3 })
	in := []string{"aaaa", "bbbb", "cccc", strings.Repeat("d", 30), "", "e"}
	have, err := retrieve.Embed(t.Context(), e, retrieve.SideDocument, in)
	if err != nil || len(have) != 6 {
		t.Fatal(have, err)
	}
	if want := []int{2, 1, 1, 2}; !reflect.DeepEqual(f.batches, want) || f.texts[4] != " " {
		t.Errorf("batches %v, texts %q", f.batches, f.texts)
	}
}

// A text that comes again is not sent again, up to the bound of the memory.
func TestCache(t *testing.T) {
	f := serve(t, nil)
	e := f.embedder(t, func(o *Options) { o.Dimensions, o.Batch, o.Cache = 3, 4, 3*(entryBytes+12); o.QueryPrefix = "q" })
	ask := func(side retrieve.Side, sent int, texts ...string) {
		t.Helper()
		f.texts = nil
		have, err := retrieve.Embed(t.Context(), e, side, texts)
		if err != nil || len(f.texts) != sent {
			t.Errorf("%q: %v, sent %q, want %d", texts, err, f.texts, sent)
		}
		for i, text := range texts {
			if side == retrieve.SideQuery {
				text = "q" + text
			}
			if !reflect.DeepEqual(have[i], vectorOf(text)) {
				t.Errorf("%q: %v", text, have[i])
			}
			clear(have[i]) // the caller owns it
		}
	}
	ask(retrieve.SideDocument, 2, "a", "b")
	ask(retrieve.SideDocument, 1, "b", "c", "a")
	ask(retrieve.SideDocument, 0, "a", "b", "c")
	ask(retrieve.SideQuery, 1, "b")
	ask(retrieve.SideDocument, 1, "b", "c", "a") // b or another was dropped for the question
	ask(retrieve.SideDocument, 5, "v", "w", "x", "y", "z")
	ask(retrieve.SideDocument, 0, "a", "b", "c")
}

func TestConcurrencyAndRate(t *testing.T) {
	var f *fake
	f = serve(t, func(_ int, _ http.ResponseWriter, _ *http.Request) bool {
		await.True(func() bool { return f.most.Load() >= 2 }) // another one comes meanwhile
		return false
	})
	e := f.embedder(t, func(o *Options) { o.Batch, o.Concurrency, o.Dimensions = 1, 3, 3 })
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if _, err := e.Embed(t.Context(), retrieve.SideDocument, texts(8)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if most := f.most.Load(); most < 2 || most > 3 {
		t.Errorf("%d requests at the same time, want 3", most)
	}
	e = f.embedder(t, func(o *Options) { o.Batch, o.Rate, o.Dimensions = 1, 100, 3 })
	start := time.Now()
	if _, err := e.Embed(t.Context(), retrieve.SideDocument, texts(8)); err != nil || time.Since(start) < 65*time.Millisecond {
		t.Errorf("8 requests, 100 in a second: %v, %v", time.Since(start), err)
	}
}

func status(code int, body string) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
		return true
	}
}

func body(text string) func(int, http.ResponseWriter, *http.Request) bool {
	return status(http.StatusOK, text)
}

// What a server does wrong is told in one line that names the server and what to do.
func TestFailures(t *testing.T) {
	nan := base64Of([]float32{1, float32(math.NaN()), 2})
	for _, tt := range []struct {
		name     string
		answer   func(int, http.ResponseWriter, *http.Request) bool
		is       error
		says     string
		requests int32
	}{
		{"busy", status(429, `{"error": {"message": "slow down"}}`), retrieve.ErrUnavailable, "429 Too Many Requests: slow down (it has too many requests: lower rate", 3},
		{"broken", status(500, `oh <b>no</b>`), retrieve.ErrUnavailable, "500 Internal Server Error: oh <b>no</b> (try later", 3},
		{"key", status(401, `{"error": "key sk-secret is wrong"}`), retrieve.ErrUnavailable, "401 Unauthorized: key *** is wrong (check key)", 1},
		{"headers", status(401, `{"error": "token ho-secret or ho-secret-2, part pa-secret"}`), retrieve.ErrUnavailable, "token *** or ***, part *** (check key)", 1},
		{"path", status(404, ``), retrieve.ErrUnavailable, "404 Not Found (check base_url and model)", 1},
		{"refused", status(400, `{"message": "too\n\u001b[2J long"}`), nil, `400 Bad Request: too \u001b[2J long (make chunks smaller`, 1},
		{"never", func(_ int, _ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, retrieve.ErrUnavailable, "no answer within LIMIT (raise timeout", 3},
		{"half an answer", func(_ int, w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.WriteString(w, `{"data": [`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}, retrieve.ErrUnavailable, "no answer within LIMIT", 3},
		{"hung up", func(_ int, _ http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }, retrieve.ErrUnavailable, "EOF (is the server running", 3},
		{"too few", body(`{"data": [{"index": 1, "embedding": [1, 2, 3]}]}`), retrieve.ErrVectors, "the answer has 1 for 2 texts", 1},
		{"too many", body(`{"data": [{"embedding": [1, 2, 3]}, {"embedding": [1, 2, 3]}, {"embedding": [1, 2, 3]}]}`), retrieve.ErrVectors, "more than 2 for 2 texts", 1},
		{"one twice", body(`{"data": [{"index": 1, "embedding": [1, 2, 3]}, {"index": 1, "embedding": [1, 2, 3]}]}`), retrieve.ErrVectors, "two of index 1", 1},
		{"bad index", body(`{"data": [{"index": 2, "embedding": [1, 2, 3]}]}`), retrieve.ErrVectors, "index 2 for 2 texts", 1},
		{"dimension", body(`{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2]}]}`), retrieve.ErrVectors, "one has 2 dimensions, want 3", 1},
		{"too long", body(`{"data": [{"embedding": [1, 2, 3, 4]}, {"embedding": [1, 2]}]}`), retrieve.ErrVectors, "more than 3 dimensions", 1},
		{"empty", body(`{"data": [{"embedding": []}]}`), retrieve.ErrVectors, "one is empty", 1},
		{"null", body(`{"data": [{"embedding": [1, null, 3]}]}`), retrieve.ErrVectors, "number 2 of one is not a number", 1},
		{"infinite", body(`{"data": [{"embedding": [1, 1e400, 3]}]}`), retrieve.ErrVectors, "number 2 of one is not finite", 1},
		{"NaN", body(`{"data": [{"embedding": "` + nan + `"}]}`), retrieve.ErrVectors, "number 2 of one is not finite", 1},
		{"no base64", body(`{"data": [{"embedding": "sk-secret"}]}`), retrieve.ErrVectors, "no base64", 1},
		{"no vectors", body(`{"error": "sk-secret"}`), retrieve.ErrVectors, "the answer has 0 for 2 texts", 1},
		{"HTML", body(`<html>sk-secret</html>`), retrieve.ErrVectors, "no valid JSON at byte 0 (check base_url)", 1},
		{"list", body(`[[1, 2, 3]]`), retrieve.ErrVectors, "want an object (check base_url)", 1},
		{"endless", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			for range 1 << 10 {
				_, _ = io.WriteString(w, strings.Repeat(" ", 1<<10))
			}
			return true
		}, retrieve.ErrVectors, "bytes for 2 vectors (is base_url that of an API for embeddings?)", 1},
		{"large", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "1000000000000")
			return true
		}, retrieve.ErrVectors, "bytes for 2 vectors", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := serve(t, tt.answer)
			var err error
			ask := func(limit time.Duration) (requests int32) {
				f.requests.Store(0)
				e := f.embedder(t, func(o *Options) {
					o.Retries, o.Timeout, o.Dimensions = 2, limit, 3
					o.Headers = map[string]string{"X-First": "Token ho-secret", "X-Second": "ho-secret-2", "X-Third": "a=pa-secret"}
					o.Secrets = []string{"pa-secret"}
				})
				_, err = e.Embed(t.Context(), retrieve.SideDocument, texts(2))
				return f.requests.Load()
			}
			limit, requests := await.Patience, int32(0)
			if strings.HasPrefix(tt.says, "no answer within") {
				await.Enough(50*time.Millisecond, func(d time.Duration) bool { // for requests to reach the server
					limit, requests = d, ask(d)
					return requests == tt.requests
				})
			} else {
				requests = ask(limit)
			}
			var of *retrieve.EmbedError
			if !errors.As(err, &of) || of.Place != f.URL+"/v1" || of.Model != "m" {
				t.Fatalf("the server is not named: %v", err)
			}
			says := err.Error()
			if tt.is != nil && !errors.Is(err, tt.is) || tt.is == nil && errors.Is(err, retrieve.ErrUnavailable) || !strings.Contains(says, strings.ReplaceAll(tt.says, "LIMIT", limit.String())) {
				t.Errorf("%v", err)
			}
			if strings.Contains(says, "secret") || strings.Contains(says, "\n") || requests != tt.requests {
				t.Errorf("%q after %d requests", says, requests)
			}
		})
	}
}

// A server that recovers is asked again, after the pause that it asks for.
func TestRecovers(t *testing.T) {
	f := serve(t, func(n int, w http.ResponseWriter, _ *http.Request) bool {
		switch n {
		case 1:
			w.Header().Set("Retry-After", "0.1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			_, _ = io.WriteString(w, `{"data": [{"embedding": [1, 2, 3]}`)
			panic(http.ErrAbortHandler)
		}
		return n < 3
	})
	e := f.embedder(t, nil)
	start := time.Now()
	m, err := e.Model(t.Context())
	if took := time.Since(start); err != nil || m.Dimension != 3 || f.requests.Load() != 3 || took < 100*time.Millisecond {
		t.Errorf("%v, %v, %d requests, %v", m, err, f.requests.Load(), took)
	}
}

// The first failure ends all requests of a call, and so does its context.
func TestStops(t *testing.T) {
	f := serve(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 3 {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		select {
		case <-r.Context().Done():
		case <-time.After(await.Patience):
			t.Error("a request goes on after another failed")
		}
		return true
	})
	e := f.embedder(t, func(o *Options) { o.Batch, o.Dimensions, o.Concurrency = 1, 3, 3 })
	if _, err := e.Embed(t.Context(), retrieve.SideDocument, texts(9)); err == nil || !strings.Contains(err.Error(), "400") || f.requests.Load() > 4 {
		t.Errorf("%v, %d requests", err, f.requests.Load())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.Embed(ctx, retrieve.SideDocument, texts(2)); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, retrieve.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// A redirect is not followed, so the key stays with the server that it is for.
func TestRedirect(t *testing.T) {
	thief := serve(t, nil)
	f := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "Bearer sk-secret" || r.Header.Get("X-Tenant") != "t" {
			t.Errorf("headers %v", r.Header)
		}
		http.Redirect(w, r, thief.URL+"/v1/embeddings", http.StatusTemporaryRedirect)
		return true
	})
	e := f.embedder(t, func(o *Options) { o.Headers = map[string]string{"x-tenant": "t"} })
	if _, err := e.Model(t.Context()); !errors.Is(err, retrieve.ErrUnavailable) || !strings.Contains(err.Error(), "redirects are not followed") || thief.requests.Load() != 0 {
		t.Errorf("%v, %d requests to the other server", err, thief.requests.Load())
	}
}

func TestOptions(t *testing.T) {
	good := Options{BaseURL: "http://h/v1", Model: "m"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"scheme": func(o *Options) { o.BaseURL = "ftp://h" }, "no host": func(o *Options) { o.BaseURL = "http:///v1" },
		"password": func(o *Options) { o.BaseURL = "http://a:sk-secret@h" }, "no model": func(o *Options) { o.Model = "" },
		"dimensions": func(o *Options) { o.Dimensions = 1 << 20 }, "key": func(o *Options) { o.Key = "sk-secret\r\nX: y" },
		"header": func(o *Options) { o.Headers = map[string]string{"a": "sk-secret\n"} }, "rate": func(o *Options) { o.Rate = math.NaN() },
		"encoding": func(o *Options) { o.Encoding = "int8" }, "batch": func(o *Options) { o.Batch = -1 },
	} {
		o := good
		change(&o)
		if _, err := New(o); !errors.Is(err, retrieve.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := Options{BaseURL: "http://h/openai/?api-version=1&key=sk-secret", Model: "m"}
	if request, shown := o.address(); request != "http://h/openai/embeddings?api-version=1&key=sk-secret" || shown != "http://h/openai" {
		t.Errorf("%s, %s", request, shown)
	}
}

// What an answer takes in memory is a small multiple of its bytes, whatever is in it.
func TestHeavyAnswers(t *testing.T) {
	most := int(maxAnswer(4, 0))
	many := func(begin, each, end string) string {
		return begin + strings.Repeat(each, (most-len(begin)-len(end))/len(each)) + end
	}
	for name, text := range map[string]string{
		"vectors":     many(`{"data":[{"embedding":[1]}`, `,{}`, `]}`),
		"numbers":     many(`{"data":[{"embedding":[1`, `,1`, `]}]}`),
		"a number":    many(`{"data":[{"embedding":[1.`, `1`, `]}]}`),
		"a text":      many(`{"data":[{"embedding":"`, `AAAA`, `"}]}`),
		"escapes":     many(`{"data":[{"embedding":"`, `\u0041`, `"}]}`),
		"an unknown":  many(`{"x":"`, `x`, `"}`),
		"a name":      many(`{"`, `x`, `":1}`),
		"names":       many(`{"x":1`, `,"y":1`, `}`),
		"lists":       many(`{"x":[0`, `,[]`, `]}`),
		"depth":       many(`{"x":`, `[`, ``),
		"data again":  many(`{"data":[]`, `,"data":[]`, `}`),
		"white space": many(`{`, ` `, `}`),
	} {
		into := make([][]float32, 4)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode(&bounded{strings.NewReader(text)}, into, 0)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, retrieve.ErrVectors) || took > 1<<20+6*uint64(len(text)) {
			t.Errorf("%s: %d bytes took %d, %v", name, len(text), took, err)
		}
	}
}

// bounded hides all but Read.
type bounded struct{ io.Reader }

// No answer makes the decoder fail otherwise than with one of its errors, or gives vectors that are
// not those that were asked for.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"data": [{"index": 1, "embedding": [1, 2.5e-3]}, {"index": 0, "embedding": "AACAPwAAgD8="}]}`), 2)
	f.Add([]byte(`{"object": "list", "data": [{"embedding": [1]}, {"embedding": [2]}], "usage": {"total_tokens": 1}}`), 0)
	f.Add([]byte(`{"error": {"message": "no"}}`), 3)
	f.Fuzz(func(t *testing.T, data []byte, dimension int) {
		if dimension < 0 || dimension > 4 {
			return
		}
		into := make([][]float32, 2)
		err := decode(io.LimitReader(strings.NewReader(string(data)), 1<<10), into, dimension)
		if err != nil {
			if !errors.Is(err, retrieve.ErrVectors) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("%v", err)
			}
			return
		}
		m := retrieve.Model{ID: "m", Dimension: len(into[0])}
		if err := m.Check(2, into); err != nil || dimension > 0 && m.Dimension != dimension {
			t.Fatalf("%v: %v", into, err)
		}
	})
}

// A server that cannot answer a whole batch in time gets smaller ones, also afterwards.
func TestSlowServer(t *testing.T) {
	var most atomic.Int32
	f := serve(t, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		if len(in.Input) > 4 {
			<-r.Context().Done()
			return true
		}
		most.Store(max(most.Load(), int32(len(in.Input))))
		var out []string
		for i := range in.Input {
			out = append(out, fmt.Sprintf(`{"index": %d, "embedding": [1, 2, 3]}`, i))
		}
		_, _ = fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(out, ","))
		return true
	})
	var afterwards int32
	if !await.Enough(100*time.Millisecond, func(limit time.Duration) bool { // for the small batches
		most.Store(0)
		e := f.embedder(t, func(o *Options) { o.Timeout, o.Dimensions, o.Batch, o.Concurrency = limit, 3, 16, 1 })
		_, first := e.Embed(t.Context(), retrieve.SideDocument, texts(40))
		f.requests.Store(0)
		_, again := e.Embed(t.Context(), retrieve.SideDocument, texts(40))
		afterwards = f.requests.Load()
		return first == nil && again == nil && most.Load() == 4 && afterwards == 10
	}) {
		t.Errorf("batches of %d, want 4; %d requests, want 10: the server's size was forgotten", most.Load(), afterwards)
	}
}
