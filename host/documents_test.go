package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// document is a request of n bytes.
func document(n int) []byte { return bytes.Repeat([]byte("document"), n/8+1)[:n] }

// numbers is what the fixture says through Extism.
func numbers(a, b uint64) string {
	return string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b))
}

// A guest that takes documents is given them in its memory, and answers there or, as far
// as it has not taken them, through Extism.
func TestDocumentsThroughTheMailbox(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		h := newHost(t, cfg)
		p := load(t, h, "documents", host.PluginConfig{Limits: host.Limits{Output: 4000, Input: 8000}})
		tests := []struct {
			op         abi.Operation
			size       int
			want, fail string
		}{
			{abi.OpProvide, 1, "d", ""},
			{abi.OpProvide, 4000, string(document(4000)), ""},
			{abi.OpProvide, 4001, "", "output_too_large: output of 4001 bytes, allowed 4000"},
			{abi.OpProvide, 4097, "", "input_too_large: the guest lends room for 4096 bytes, needed are 4097"},
			{abi.OpProvide, 5000, "", "input_too_large: the guest lends room for"},
			{abi.OpProvide, 6000, "", "invalid_output: mailbox states an input buffer 65536+65537 beyond the memory"},
			{abi.OpProvide, 7000, "", "invalid_output: the mailbox lost its field document"},
			{abi.OpProvide, 8001, "", "input_too_large: input of 8001 bytes, allowed 8000"},
			{abi.OpProcess, 9, "", ""},
			{abi.OpClassify, 9, "", "invalid_output: mailbox states output 131064+64 beyond the memory of 131072 bytes"},
			{abi.OpFormat, 9, numbers(9, 0), ""},
			{abi.OpFormat, 0, numbers(0, 0), ""},
			{abi.OpCompact, 9, "", "guest_error: anormale"},
			{abi.OpTransformQuery, 9, numbers(1, 2), ""},
		}
		for _, tt := range tests {
			x, err := p.Exchange(t.Context(), tt.op, host.LaneJSON, document(tt.size))
			switch {
			case tt.fail != "":
				if err == nil || !strings.Contains(err.Error(), string(tt.op)+": "+tt.fail) {
					t.Errorf("%s with %d bytes: %v, want %s", tt.op, tt.size, err, tt.fail)
				}
			case err != nil || string(x.Output) != tt.want:
				t.Errorf("%s with %d bytes: %v, output %+v", tt.op, tt.size, err, x)
			}
		}
	})
}

// What is no operation of the contract has its input from Extism, and so has a guest whose
// mailbox has no place for the length of a document.
func TestNoDocumentsThroughTheMailbox(t *testing.T) {
	h := newHost(t, host.Config{})
	r, err := load(t, h, "documents", host.PluginConfig{}).Call(t.Context(), "other", document(9))
	if err != nil || string(r.Output) != numbers(0, 9) {
		t.Errorf("another function: %v, %+v", err, r)
	}
	x, err := load(t, h, "documents-at-end", host.PluginConfig{}).Exchange(t.Context(), abi.OpProcess, host.LaneJSON, document(9))
	if err != nil || string(x.Output) != "documentd" {
		t.Errorf("a mailbox at the end: %v, %+v", err, x)
	}
}

// A document that a call of a session left behind is not that of the next one.
func TestDocumentThatWasNotTaken(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "documents", host.PluginConfig{})
	s, err := p.NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	var failed *host.PluginError
	if _, err := s.Call(t.Context(), "anchor_compact", document(9)); !errors.As(err, &failed) || failed.Code != abi.ReasonGuestError {
		t.Fatal(err)
	}
	r, err := s.Call(t.Context(), "anchor_format", nil)
	if err != nil || string(r.Output) != numbers(0, 0) {
		t.Errorf("%v, %+v", err, r)
	}
}

// echoDocuments is a plugin in stock Go that answers each document with itself.
var echoDocuments = &goGuest{source: "sdk/pdk-go/testdata/echo"}

func loadEchoDocuments(tb testing.TB, h *host.Host, cfg host.PluginConfig) *host.Plugin {
	tb.Helper()
	p, err := h.Load(context.Background(), echoDocuments.load(tb), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// A plugin made with the SDK takes documents of any size, in memory that the pool puts
// back and in memory that stays.
func TestDocumentsOfTheSDK(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, state := range []host.State{host.StateReset, host.StateKeep} {
		p := loadEchoDocuments(t, h, host.PluginConfig{State: state})
		for _, n := range []int{1, 100, 64 << 10, 64<<10 + 1, 3 << 20, 7} {
			x, err := p.Exchange(t.Context(), abi.OpProvide, host.LaneJSON, document(n))
			if err != nil || !bytes.Equal(x.Output, document(n)) {
				t.Fatalf("%s, %d bytes: %v", state, n, err)
			}
		}
	}
}

// BenchmarkDocuments is a document to a plugin in stock Go and back, with an instance
// that is kept.
func BenchmarkDocuments(b *testing.B) {
	p := loadEchoDocuments(b, newHost(b, host.Config{}), host.PluginConfig{State: host.StateKeep})
	for _, size := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			input := document(size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Exchange(b.Context(), abi.OpProvide, host.LaneJSON, input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
