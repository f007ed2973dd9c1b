package main

import (
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func label(text, settings string) (string, error) {
	reply, err := pdktest.Document[abi.ClassifyReply](abi.OpClassify, abi.QueryRequest{
		Query: abi.Query{Text: text}, Settings: json.RawMessage(settings),
	})
	if err != nil {
		return "", err
	}
	return reply.Label, nil
}

func TestClassify(t *testing.T) {
	const settings = `{"rules": [{"label": "code", "keywords": ["panic"]}], "default": "prose"}`
	for text, want := range map[string]string{"a panic": "code", "a poem": "prose", "": "prose"} {
		if got, err := label(text, settings); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestNoRules(t *testing.T) {
	want := "settings: rules: none (give at least one label with keywords)"
	if _, err := label("x", `{}`); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
