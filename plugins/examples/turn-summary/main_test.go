package main

import (
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func summary(settings string) (string, error) {
	reply, err := pdktest.Document[abi.CompactReply](abi.OpCompact, abi.CompactRequest{
		Turns: []abi.Turn{{Role: "user", Content: "Hi. The night train leaves at nine."}}, Summary: "- user: which train?",
		Settings: json.RawMessage(settings),
	})
	if err != nil {
		return "", err
	}
	return reply.Summary, nil
}

func TestCompact(t *testing.T) {
	want := "- user: which train?\n- user: The night train leaves at nine."
	if got, err := summary(`{}`); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestSettings(t *testing.T) {
	want := "settings: max_line 1: not within 20..10000"
	if _, err := summary(`{"max_line": 1}`); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
