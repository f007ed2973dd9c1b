package conformance

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func parsed(t *testing.T, text string) []Exchange {
	t.Helper()
	list, err := ParseExchanges("http.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestExchangesMatch(t *testing.T) {
	for _, tc := range []struct {
		request, method, url, header, body string
		want                               bool
	}{
		{`{"url":"https://a.test/x"}`, "GET", "https://a.test/x", "", "", true},
		{`{"url":"https://a.test/x"}`, "POST", "https://a.test/x", "", "", false},
		{`{"url":"https://a.test/x"}`, "GET", "https://a.test/xy", "", "", false},
		{`{"url":"https://a.test/*?q=*"}`, "GET", "https://a.test/s?q=1", "", "", true},
		{`{"url":"https://a.test/*?q=*"}`, "GET", "https://a.test/s?p=1", "", "", false},
		{`{"url":"https://a.test/*a"}`, "GET", "https://a.test/", "", "", false},
		{`{"url":"aa*aa"}`, "GET", "aaa", "", "", false},
		{`{"url":"*"}`, "GET", "https://a.test/", "", "anything", true},
		{`{"url":"*","method":"post","headers":{"x-key":"1"}}`, "POST", "u", "1", "", true},
		{`{"url":"*","headers":{"x-key":"1"}}`, "GET", "u", "2", "", false},
		{`{"url":"*","body":"a"}`, "GET", "u", "", "a", true},
		{`{"url":"*","body":"a"}`, "GET", "u", "", "\"a\"", false},
		{`{"url":"*","body":{"a":1,"b":[2]}}`, "GET", "u", "", `{ "b": [2.0], "a": 1 }`, true},
		{`{"url":"*","body":{"a":1}}`, "GET", "u", "", `{"a":1,"b":2}`, false},
		{`{"url":"*","body":{"a":1}}`, "GET", "u", "", `no JSON`, false},
	} {
		var r ExchangeRequest
		if err := json.Unmarshal([]byte(tc.request), &r); err != nil {
			t.Fatal(err)
		}
		header := http.Header{"X-Key": {tc.header}}
		if got := r.matches(tc.method, tc.url, header.Get, []byte(tc.body)); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

// A run takes the first exchange that fits, a case each one once and the last one again.
func TestExchangesInOrder(t *testing.T) {
	list := parsed(t, `[{"request":{"url":"*"},"response":{"status":500}}, {"request":{"url":"u"},"response":{"body":{"n": 1}}}, {"request":{"url":"u"},"response":{"error":"dns"}}]`)
	for _, inOrder := range []bool{false, true} {
		e := NewExchanges(list)
		e.inOrder = inOrder
		var got []string
		for range 4 {
			r, err := e.Respond("GET", "u", http.Header{}.Get, nil)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimSpace(string(r.Bytes())+" "+r.Error))
		}
		if want := map[bool]string{false: "||||", true: `|{"n":1}|dns|dns|`}[inOrder]; strings.Join(got, "|")+"|" != want {
			t.Errorf("in order %t: %q", inOrder, got)
		}
	}
}

func TestExchangesAreNamed(t *testing.T) {
	e := NewExchanges(parsed(t, `[{"request":{"url":"u","method":"POST"},"response":{}}]`))
	if p := e.problem(); p != "did not send POST u, which the case expects (http[0])" {
		t.Error(p)
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := e.Respond("GET", "v"+strings.Repeat("x", 500), http.Header{}.Get, nil); !errors.Is(err, ErrUnlisted) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list := e.Unlisted(); len(list) != 1 || len(list[0]) > 310 {
		t.Errorf("%q", list)
	}
}

func TestMalformedExchanges(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "cannot unmarshal", `[{"request":{}}]`: "http[0]: the request has no url", `[{"request":{"url":"u"},"respons":{}}]`: "unknown field",
		`[{"request":{"url":"u"},"response":{"status":1}}]`: "status 1 (want 100 to 999)", `[{"request":{"url":"u"},"response":{"error":"x"}}]`: `error "x"`,
		`[{"request":{"url":"u"},"response":{"error":"dns","status":200}}]`: "leave out the others",
	} {
		if _, err := ParseExchanges("http.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "http.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseOwnCases("f", []byte(`{"name":"n","expect":{"no_change":true},"http":[{"request":{}}]}`)); err == nil || !strings.Contains(err.Error(), `case "n": http[0]`) {
		t.Error(err)
	}
}

// FuzzExchanges holds the reader and the comparison to their promises: no panic, and what is
// read answers a request that is written like it.
func FuzzExchanges(f *testing.F) {
	f.Add([]byte(`[{"request":{"url":"https://a.test/*","body":{"a":1}},"response":{"status":404,"body":"none"}}]`), "https://a.test/b", []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, text []byte, url string, body []byte) {
		list, err := ParseExchanges("f", text)
		if err != nil {
			return
		}
		e := NewExchanges(list)
		if _, err := e.Respond("GET", url, http.Header{}.Get, body); err != nil && len(e.Unlisted()) != 1 {
			t.Error("a request without a response is not remembered")
		}
		for i := range list {
			_ = list[i].Response.Bytes()
			if u := list[i].Request.URL; !likeText(u, u) {
				t.Errorf("%q does not match itself", u)
			}
		}
	})
}
