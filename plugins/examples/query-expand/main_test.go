package main

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func variants(t *testing.T, q abi.Query, settings string) []abi.Query {
	t.Helper()
	reply, err := pdktest.Document[abi.TransformReply](abi.OpTransformQuery, abi.QueryRequest{Query: q, Settings: json.RawMessage(settings)})
	if err != nil {
		t.Fatal(err)
	}
	if reply == nil {
		return nil
	}
	return reply.Queries
}

func TestTransform(t *testing.T) {
	q := abi.Query{Text: "restart a pod", Embedding: []float32{1, 2}, Metadata: map[string]any{"user": "ann"}}
	got := variants(t, q, `{"synonyms": {"pod": ["container"]}}`)
	want := []abi.Query{q, {Text: "restart a container", Metadata: q.Metadata}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestNoVariant(t *testing.T) {
	for _, settings := range []string{``, `{}`, `{"synonyms": {"pod": ["container"]}, "max_variants": 1}`} {
		if got := variants(t, abi.Query{Text: "restart a pod"}, settings); got != nil {
			t.Errorf("settings %s: got %v", settings, got)
		}
	}
}
