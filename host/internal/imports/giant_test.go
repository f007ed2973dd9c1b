package imports_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// The longest requests for services cost the host a small multiple of their bytes, and their mistakes
// are told in a short text.
func TestGiantRequests(t *testing.T) {
	g := serving(t, &fakeServices{}, allServices, guest.Limits{})
	// fill puts as many copies of s in the place of the star as a request has room for.
	fill := func(request, s string) string {
		return strings.Replace(request, "*", strings.Repeat(s, (services.MaxDocument-len(request))/len(s)), 1)
	}
	user := `"messages":[{"role":"user","content":"a"}]`
	for _, c := range []struct{ call, request string }{
		{"embed", fill(`{"side":"*"}`, `\u0000`)},
		{"embed", fill(`{"side":"*"}`, "\U0001F600")},
		{"embed", fill(`{"texts":["*"]}`, `\u00e4`)},
		{"embed", fill(`{"x":*}`, `[`)},
		{"embed", `{"texts":[` + strings.Repeat(`"`+strings.Repeat("a", 1000)+`",`, 1000) + `""]}`},
		{"search", fill(`{"text":"x","by":"*"}`, `\u0001`)},
		{"search", fill(`{"text":"x","collection":"*"}`, `\u0001`)},
		{"search", fill(`{"text":"x","filter":[{"field":"a","op":"*","values":["b"]}]}`, `\u0001`)},
		{"search", fill(`{"text":"*"}`, `a `)},
		{"llm", fill(`{"requests":[{"messages":[{"role":"*"}]}]}`, `\u0001`)},
		{"llm", fill(`{"requests":[{"model":"*",`+user+`}]}`, `\u0001`)},
		{"llm", fill(`{"requests":[{"schema":{"$ref":"*"},`+user+`}]}`, `a`)},
		{"llm", fill(`{"requests":[{"schema":*,`+user+`}]}`, `[`)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := g.Call(t.Context(), c.call, []byte(c.request))
		runtime.ReadMemStats(&after)
		long := 0
		for e := err; e != nil; e = errors.Unwrap(e) {
			long = max(long, len(e.Error()))
		}
		if long > 4<<10 || after.TotalAlloc-before.TotalAlloc > 24*services.MaxDocument {
			t.Errorf("%s %.30s: %d bytes, error of %d bytes: %.80v", c.call, c.request, after.TotalAlloc-before.TotalAlloc, long, err)
		}
	}
}
