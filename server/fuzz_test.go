package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// Whatever comes, the answer is not the fault of the server, errors are error documents, and no
// memory stays counted.
func FuzzRequests(f *testing.F) {
	s := newServer(f, words, Options{MaxBody: 1 << 16})
	h, admin := s.Handler(), s.AdminHandler()
	for _, seed := range [][5]string{
		{"POST", "/v1/builds", "only=a", "application/json", `{"query": "q", "counting": {"tokenizer": "words"}, "items": [{"content": "a", "source": "user"}]}`},
		{"POST", "/v1/assemble", "run=r&to=gemini&lossy=1", "application/json", `[{"role": "user", "content": "hi"}]`},
		{"POST", "/v1/memory/facts", "", "application/json", `{"content": "a", "metadata": {"a": [1, null]}}`},
		{"POST", "/v1/runs/r/frames", "", "application/json", `{"kind": "tool_call", "summary": "s", "data": {"a": 1e400}}`},
		{"POST", "/v1/conversations/c/turns", "", "application/json", `{"turns": [{"role": "model", "parts": [{"text": "a"}]}]}`},
		{"POST", "/v1/evals", "", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"corpus\"\r\n\r\n{}\r\n--b--\r\n"},
		{"GET", "/v1/conversations/%2e%2e/turns", "after=1&limit=1", "", ""},
		{"DELETE", "/v1/memory/facts", "all=true", "", ""},
		{"GET", "/admin/v1/config", "", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], "gzip", "a-1", []byte(seed[4]))
		f.Add(seed[0], seed[1], seed[2], seed[3], "", "", []byte(seed[4]))
	}
	f.Fuzz(func(t *testing.T, method, path, query, kind, coding, id string, body []byte) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || u.Host != "" || strings.HasPrefix(path, "/debug/") || strings.HasSuffix(path, "/reload") {
			return
		}
		u.RawQuery = query
		r := httptest.NewRequest(http.MethodGet, "/", bytes.NewReader(body))
		r.Method, r.URL, r.Host = method, u, "localhost"
		for name, value := range map[string]string{"Content-Type": kind, "Content-Encoding": coding, "X-Request-Id": id, "Traceparent": id, "Accept-Encoding": coding, "X-Request-Timeout": "5s"} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		for _, h := range []http.Handler{h, admin} {
			w := httptest.NewRecorder()
			r.Body = http.NoBody
			if len(body) > 0 {
				r.Body = readCloser{bytes.NewReader(body)}
			}
			h.ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != http.StatusServiceUnavailable && w.Code != http.StatusGatewayTimeout {
				t.Fatalf("%s %s?%s: status %d: %s", method, path, query, w.Code, w.Body)
			}
			if w.Code >= 400 && w.Header().Get("Content-Encoding") == "" && method != http.MethodHead {
				var doc struct {
					Error struct{ Message, Reason string }
				}
				if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Error.Message == "" || doc.Error.Reason == "" {
					t.Fatalf("%s %s?%s: status %d, %v: %s", method, path, query, w.Code, err, w.Body)
				}
			}
			if sent := w.Header().Get(requestIDHeader); sent == "" || strings.ContainsAny(sent, "\r\n ") {
				t.Fatalf("request id %q", sent)
			}
		}
		n := s.evals.Len() + s.ingests.Len()
		if used := s.bodies.Used(); used != 0 && n == 0 {
			t.Fatalf("%d bytes are still counted", used)
		}
	})
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

func FuzzAccepted(f *testing.F) {
	f.Add("gzip;q=0.5, zstd;q=nan, *")
	f.Fuzz(func(t *testing.T, header string) {
		switch coding := accepted(header); coding {
		case "", "gzip", "zstd":
			if coding != "" && !strings.Contains(strings.ToLower(header), coding) {
				t.Errorf("%q: %s", header, coding)
			}
		default:
			t.Errorf("%q: %s", header, coding)
		}
	})
}
