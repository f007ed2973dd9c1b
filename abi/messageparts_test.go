package abi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// partsOfHi are messages with parts.
func partsOfHi() []Message {
	at := 0
	return []Message{{Role: "user", Content: "hi", Parts: []MessagePart{{Index: &at, Type: "text", Text: "hi"}}}}
}

// Guests that are older than message parts receive the bytes that they always did, whatever
// the caller's request has.
func TestOnlyNamedMessagePartsAreSent(t *testing.T) {
	const with, without = `{"role":"user","content":"hi","parts":[{"index":0,"type":"text","text":"hi"}]}`, `{"role":"user","content":"hi"}`
	provide := ProvideRequest{State: AgentState{Messages: append(partsOfHi(), partsOfHi()...)}, Messages: partsOfHi()}
	distill := DistillRequest{Mode: DistillObserve, Messages: partsOfHi()}
	for _, tc := range []struct {
		op       Operation
		reads    []string
		request  any
		has, not string
	}{
		{OpProvide, nil, provide, without, `"parts"`},
		{OpProvide, []string{}, &provide, without, `"parts"`},
		{OpProvide, []string{"messages", "state_messages"}, provide, without, `"parts"`},
		{OpEstimateTokens, nil, provide, without, `"parts"`},
		{OpDistill, nil, distill, without, `"parts"`},
		{OpDistill, nil, &distill, without, `"parts"`},
		{OpDistill, []string{"messages", "observations", "reflection"}, distill, without, `"parts"`},
		{OpProvide, []string{"messages", "message_parts"}, provide, with, without},
		{OpProvide, []string{"state_messages", "message_parts"}, provide, with, without},
		{OpProvide, []string{"message_parts"}, provide, `"messages":[]`, `"parts"`},
		{OpDistill, []string{"messages", "observations", "reflection", "message_parts"}, distill, with, without},
	} {
		_, parts, err := ReadsOf(tc.op, tc.reads)
		if err != nil {
			t.Fatal(err)
		}
		sent, err := parts.Request(tc.op, tc.request)
		doc, _ := json.Marshal(sent)
		if err != nil || !strings.Contains(string(doc), tc.has) || strings.Contains(string(doc), tc.not) {
			t.Errorf("%s reads %q: sent %s, %v", tc.op, tc.reads, doc, err)
		}
	}
	if provide.Messages[0].Parts == nil || distill.Messages[0].Parts == nil {
		t.Error("the caller's request lost its parts")
	}
}

// Messages of the state that differ only in their parts are not left out.
func TestStateMessagesWithOtherPartsAreSent(t *testing.T) {
	other := partsOfHi()
	other[0].Parts = nil
	for _, state := range [][]Message{partsOfHi(), other} {
		sent, err := PartsOf(PartMessages, PartStateMessages, PartMessageParts).Request(OpProvide, ProvideRequest{State: AgentState{Messages: state}, Messages: partsOfHi()})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(sent.(ProvideRequest).State.Messages), len(state)-len(state[0].Parts); got != want {
			t.Errorf("%d messages of the state, want %d", got, want)
		}
	}
}

// An operator cannot give a guest the parts that its manifest does not name.
func TestMessagePartsNeedTheManifest(t *testing.T) {
	allowed := PartsOf(PartMessages, PartMessageParts)
	if got := (PartSet{}).And(allowed); got.Has(PartMessageParts) || !got.Has(PartMessages) {
		t.Errorf("a manifest without a list reads %s", got)
	}
	if got := allowed.And(PartSet{}); !got.Has(PartMessageParts) {
		t.Errorf("a manifest that names them reads %s", got)
	}
	if got := PartsOf(PartMessages).And(allowed); got.Has(PartMessageParts) {
		t.Errorf("a manifest that names messages reads %s", got)
	}
	if _, parts, _ := ReadsOf(OpDistill, []string{"messages", "observations", "reflection"}); len(parts.Missing(OpDistill)) > 0 {
		t.Errorf("a list of distill lacks %v", parts.Missing(OpDistill))
	}
	if unread := (PartSet{}).Unread(&ProvideReply{Messages: partsOfHi()}); !slices.Equal(unread, []Part{PartMessageParts}) {
		t.Errorf("an answer with parts that were not read: %v", unread)
	}
}

func TestMessagePartsOfAnAnswer(t *testing.T) {
	const doc = `{"messages":[{"role":"user","content":"c","parts":[` +
		`{"index":0,"type":"tool_result","id":"t","name":"n","parts":[{"index":2,"type":"text","text":"a"},{"type":"text","text":"b"}],"is_error":true},` +
		`{"index":1},{"index":2,"type":"image","arguments":"x","media":{"type":"t","url":"u","file_id":"f","title":"i","detail":"d","bytes":7}},{"parts":[]}]}]}`
	var r ProvideReply
	if err := DecodeReply([]byte(doc), &r); err != nil {
		t.Fatal(err)
	}
	if back, err := json.Marshal(r); string(back) != doc || err != nil {
		t.Errorf("read as %s, %v", back, err)
	}
	deep := strings.Repeat(`[{"parts":`, MaxPartDepth) + `[]` + strings.Repeat(`}]`, MaxPartDepth)
	for parts, want := range map[string]string{
		deep:                          "parts in more than 4 levels",
		strings.Repeat("[", 9):        "not JSON",
		`{}`:                          "a list",
		`null`:                        "null",
		`[null]`:                      "an object",
		`[{"index":"0"}]`:             "an integer",
		`[{"index":1.5}]`:             "an integer",
		`[{"index":1,"index":1}]`:     "index",
		`[{"is_error":1}]`:            "true or false",
		`[{"is_error":null}]`:         "true or false",
		`[{"media":[]}]`:              "an object",
		`[{"media":{"data":"aGk="}}]`: "unknown member",
		`[{"signature":"x"}]`:         "unknown member",
		`[{"text":null}]`:             "a string",
		`[{"parts":null}]`:            "a list",
	} {
		err := DecodeReply([]byte(`{"messages":[{"role":"user","content":"c","parts":`+parts+`}]}`), new(ProvideReply))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v (want %s)", parts, err, want)
		}
	}
	for _, depth := range []int{MaxPartDepth + 1, 9000} {
		parts := strings.Repeat(`[{"parts":`, depth) + `[]` + strings.Repeat(`}]`, depth)
		if err := DecodeReply([]byte(`{"messages":[{"parts":`+parts+`}]}`), new(ProvideReply)); err == nil {
			t.Errorf("%d levels were read", depth)
		}
	}
}
