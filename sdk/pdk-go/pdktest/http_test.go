package pdktest_test

import (
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
