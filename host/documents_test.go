package host_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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
