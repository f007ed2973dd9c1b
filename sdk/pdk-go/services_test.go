package pdk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestKV(t *testing.T) {
	pdktest.Use(t, pdktest.Services{})
	if _, err := pdk.KVGet("k"); !errors.Is(err, pdk.ErrNotFound) || err.Error() != `kv: get "k": not found` {
		t.Errorf("get of an absent key: %v", err)
	}
	if err := pdk.KVSet("k", nil); err == nil {
		t.Error("an empty value is stored")
	}
	if err := pdk.KVSet("k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if v, err := pdk.KVGet("k"); err != nil || string(v) != "v" {
		t.Errorf("get: %q, %v", v, err)
	}
	if err := errors.Join(pdk.KVDelete("k"), pdk.KVDelete("k")); err != nil {
		t.Error(err)
	}
	if _, err := pdk.KVGet("k"); !errors.Is(err, pdk.ErrNotFound) {
		t.Errorf("get of a deleted key: %v", err)
	}
	pdktest.Use(t, pdktest.Services{KVFull: true})
	if err := pdk.KVSet("k", []byte("v")); !errors.Is(err, pdk.ErrQuota) {
		t.Errorf("set in a full store: %v", err)
	}
}

func TestHTTP(t *testing.T) {
	pdktest.Use(t, pdktest.Services{HTTP: func(r pdk.HTTPRequest) pdk.HTTPResponse {
		if !strings.HasPrefix(r.URL, "https://up.example/") {
			return pdk.HTTPResponse{}
		}
		return pdk.HTTPResponse{Status: 404, Body: []byte(r.Method)}
	}})
	if resp, err := pdk.Get("https://up.example/x"); err != nil || resp.Status != 404 || string(resp.Body) != "GET" {
		t.Errorf("%+v, %v", resp, err)
	}
	for want, r := range map[string]pdk.HTTPRequest{
		`http: GET https://down.example/: no answer`: {URL: "https://down.example/"},
		`http: method "BREW" is not supported`:       {Method: "BREW", URL: "https://up.example/"},
	} {
		if resp, err := pdk.HTTP(r); resp != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %+v, %v", r, resp, err)
		}
	}
}

func TestLogConfigAndTokens(t *testing.T) {
	s := pdktest.Use(t, pdktest.Services{
		Config:      map[string]string{"region": "eu"},
		CountTokens: func(text string) int { return len(text) - 1 },
	})
	pdk.Log(pdk.LevelInfo, "plain")
	pdk.Logf(pdk.LevelError, "%d left", 3)
	if want := []pdktest.Log{{Level: pdk.LevelInfo, Text: "plain"}, {Level: pdk.LevelError, Text: "3 left"}}; !slices.Equal(s.Logs(), want) {
		t.Errorf("logged %v, want %v", s.Logs(), want)
	}
	v, ok := pdk.Config("region")
	_, absent := pdk.Config("zone")
	if v != "eu" || !ok || absent {
		t.Errorf("config %q, %v, %v", v, ok, absent)
	}
	n, err := pdk.CountTokens("four")
	if n != 3 || err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
	if _, err := pdk.CountTokens(""); err == nil {
		t.Error("a negative count passes")
	}
}

// The services answer as the test says, and one that it does not have is unavailable.
func TestModelServices(t *testing.T) {
	var missing *pdk.ServiceError
	pdktest.Use(t, pdktest.Services{})
	if _, err := pdk.Embed(pdk.SideQuery, []string{"a"}); !errors.As(err, &missing) || missing.Word != pdk.ServiceUnavailable {
		t.Errorf("embed without a service: %v", err)
	}
	if _, err := pdk.Search(pdk.SearchQuery{Text: "a"}); !errors.As(err, &missing) {
		t.Errorf("search without a service: %v", err)
	}
	if got, err := pdk.LLM(pdk.LLMRequest{}); err != nil || !errors.As(got[0].Err, &missing) {
		t.Errorf("llm without a service: %v, %v", got, err)
	}
	refused := &pdk.ServiceError{Service: "llm", Word: pdk.ServiceBudget, Message: "spent"}
	pdktest.Use(t, pdktest.Services{
		Embed: func(side pdk.Side, texts []string) ([][]float32, error) {
			if side != pdk.SideDocument {
				return nil, errors.New("wrong side")
			}
			return [][]float32{{1, 2}, {3, 4}}, nil
		},
		Search: func(q pdk.SearchQuery) ([]pdk.SearchHit, error) {
			return []pdk.SearchHit{{Document: q.Text, Score: float64(len(q.Vector))}}, nil
		},
		LLM: func(r pdk.LLMRequest) pdk.LLMAnswer {
			if r.Model == "" {
				return pdk.LLMAnswer{Err: refused}
			}
			return pdk.LLMAnswer{Text: "hello", Finish: pdk.LLMStop}
		},
	})
	e, err := pdk.Embed(pdk.SideDocument, []string{"a", "b"})
	if err != nil || e.Dimension != 2 || !slices.Equal(e.Vectors[1], []float32{3, 4}) {
		t.Errorf("embed: %+v, %v", e, err)
	}
	if _, err := pdk.Embed(pdk.SideDocument, []string{"a"}); err == nil {
		t.Error("two vectors for one text pass")
	}
	if _, err := pdk.Embed(pdk.SideQuery, []string{"a"}); err == nil || err.Error() != "embed: unavailable: wrong side" {
		t.Errorf("embed: %v", err)
	}
	hits, err := pdk.Search(pdk.SearchQuery{Text: "a", Vector: []float32{1}})
	if err != nil || len(hits) != 1 || hits[0].Document != "a" || hits[0].Score != 1 {
		t.Errorf("search: %v, %v", hits, err)
	}
	got, err := pdk.LLM(pdk.LLMRequest{Model: "small"}, pdk.LLMRequest{})
	if err != nil || got[0].Text != "hello" || got[0].Err != nil || *got[1].Err.(*pdk.ServiceError) != *refused { //nolint:errorlint // it is not wrapped
		t.Errorf("llm: %+v, %v", got, err)
	}
	if _, err := pdk.LLM(make([]pdk.LLMRequest, 33)...); err == nil || err.Error() != "llm: 33 requests at once (send at most 32)" {
		t.Errorf("llm: %v", err)
	}
	if _, err := pdk.Embed("", make([]string, 1025)); err == nil || err.Error() != "embed: 1025 texts at once (send at most 1024)" {
		t.Errorf("embed: %v", err)
	}
}

type limits struct {
	Max int `json:"max"`
	Min int `json:"min"`
}

func (l *limits) Defaults() { l.Max = 10 }

func (l *limits) Validate() error {
	if l.Min > l.Max {
		return fmt.Errorf("min %d is above max %d", l.Min, l.Max)
	}
	return nil
}

func TestDecodeSettings(t *testing.T) {
	for in, want := range map[string]string{
		``:                  "{10 0} <nil>",
		`null`:              "{10 0} <nil>",
		`{"min":3}`:         "{10 3} <nil>",
		`{"max":2}`:         "{2 0} <nil>",
		`{"min":3,"max":2}`: "settings: min 3 is above max 2",
		`{"max":"2"}`:       "settings: decode into pdk_test.limits: json: cannot unmarshal string into Go struct field limits.max of type int",
	} {
		s, err := pdk.DecodeSettings[limits]([]byte(in))
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(*s, err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
