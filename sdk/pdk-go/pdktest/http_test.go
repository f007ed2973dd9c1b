package pdktest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// failures keeps what a test would fail with.
type failures struct {
	testing.TB
	texts []string
}

func (f *failures) Helper()                        {}
func (f *failures) Errorf(format string, _ ...any) { f.texts = append(f.texts, format) }

func TestResponses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "http.json")
	text := `[{"request": {"url": "https://a.test/s?q=*", "headers": {"x-key": "1"}}, "response": {"body": {"n": 1}, "headers": {"ETag": "e"}}},
	  {"request": {"method": "POST", "url": "https://a.test/", "body": {"a": [1]}}, "response": {"status": 429, "body": "later"}},
	  {"request": {"url": "*a.test/never"}, "response": {"error": "timeout"}}]`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &failures{TB: t}
	pdktest.Use(t, pdktest.Services{HTTP: pdktest.Responses(f, file)})
	answers, err := pdk.HTTPBatch([]pdk.HTTPRequest{
		{URL: "https://a.test/s?q=x", Header: map[string]string{"X-Key": "1"}},
		{URL: "https://a.test/", Method: "POST", Body: []byte(`{ "a": [ 1 ] }`)},
		{URL: "https://a.test/never"},
		{URL: "https://a.test/s?q=x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := answers[0]; a.Status != 200 || string(a.Body) != `{"n":1}` || a.Header["etag"] != "e" || a.Header["content-type"] != "application/json" {
		t.Errorf("%+v", a)
	}
	if a := answers[1]; a.Status != 429 || string(a.Body) != "later" {
		t.Errorf("%+v", a)
	}
	if a := answers[2]; a.Status != 0 || a.Error != "timeout" {
		t.Errorf("%+v", a)
	}
	if a := answers[3]; a.Status != 0 || len(f.texts) != 1 || !strings.Contains(f.texts[0], "lists no response") {
		t.Errorf("%+v, failures %q", a, f.texts)
	}
}

// A case that "anchor-host plugin call --record" saved answers, too: its requests in their order,
// with *** in the place of secrets, and bodies that are no text.
func TestResponsesOfARecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asks-retrieve-001.json")
	const asked = `{"name": "asks-retrieve-001", "operation": "retrieve", "request": {"query": {}}, "settings": {}, "http": [
	  {"request": {"method": "POST", "url": "https://a.test/s?k=***&q=a", "headers": {"Authorization": "Bearer ***"}, "body": {"key": "***", "n": [1]}}, "response": {"status": 201, "body": "first"}},
	  {"request": {"method": "POST", "url": "https://a.test/s?k=***&q=a", "body": "{\"key\": \"***\", \"n\": [1]}"}, "response": {"body_base64": "AP96"}},
	  {"request": {"method": "PUT", "url": "https://a.test/", "body_base64": "AP8="}, "response": {"status": 204}}], "expect": {"output": {}}}`
	for _, text := range []string{asked, "[" + asked + "]"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &failures{TB: t}
		pdktest.Use(t, pdktest.Services{HTTP: pdktest.Responses(f, file)})
		post := pdk.HTTPRequest{URL: "https://a.test/s?k=secret&q=a", Method: "POST", Header: map[string]string{"authorization": "Bearer secret"}, Body: []byte(`{"key": "secret", "n": [1]}`)}
		put := pdk.HTTPRequest{URL: "https://a.test/", Method: "PUT", Body: []byte{0, 0xff}}
		other := put
		other.Body = []byte("text")
		answers, err := pdk.HTTPBatch([]pdk.HTTPRequest{post, post, post, put, other})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"201 first", "200 \x00\xffz", "200 \x00\xffz", "204 ", "0 "} {
			if got := fmt.Sprintf("%d %s", answers[i].Status, answers[i].Body); got != want {
				t.Errorf("answer %d: %q, want %q", i, got, want)
			}
		}
		if len(f.texts) != 1 {
			t.Errorf("failures %q", f.texts)
		}
	}
}

// A file that a test cannot mean ends it, with the file in the message.
func TestMistakesInResponses(t *testing.T) {
	for name, text := range map[string]string{
		"null": "null", "empty": "", "number": "[1]", "misspelt": `[{"request": {"urll": "u"}, "response": {}}]`, "no url": `[{"request": {}, "response": {}}]`,
		"case without requests": `{"name": "a", "expect": {}}`, "base64": `[{"request": {"url": "u"}, "response": {"body_base64": "?"}}]`,
	} {
		file := filepath.Join(t.TempDir(), "http.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if message := failure(t, func(tb testing.TB) { pdktest.Responses(tb, file) }); !strings.Contains(message, "http.json") {
			t.Errorf("%s: %q", name, message)
		}
	}
}
