package main

import (
	"encoding/json"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func extracted(settings string, r abi.ExtractRequest) (*abi.ExtractReply, error) {
	r.Settings = json.RawMessage(settings)
	return pdktest.Document[abi.ExtractReply](abi.OpExtract, r)
}

func TestExtract(t *testing.T) {
	reply, err := extracted(`{}`, abi.ExtractRequest{Turns: []abi.Turn{{Role: "user", Content: "Hi. I prefer the night train."}}})
	if err != nil || len(reply.Add) != 1 || reply.Add[0].Content != "I prefer the night train" {
		t.Errorf("got %+v, %v", reply, err)
	}
	reply, err = extracted(`{}`, abi.ExtractRequest{Facts: []abi.Fact{{ID: "a", Content: "tea"}, {ID: "b", Content: "likes tea"}}})
	if err != nil || len(reply.Remove) != 1 || reply.Remove[0] != "a" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestSettings(t *testing.T) {
	want := "settings: max_words 1: not within 3..200"
	if _, err := extracted(`{"max_words": 1}`, abi.ExtractRequest{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
