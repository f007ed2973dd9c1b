package host_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

func loadFixture(t *testing.T, name string) *host.Plugin {
	t.Helper()
	h := newHost(t, host.Config{})
	spec, err := spec.ReadFile(filepath.Join("..", "testdata", "wasm", name, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Load(t.Context(), spec, host.PluginConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An exchange passes the bytes of request and answer through, unchecked.
func TestExchangeIsRaw(t *testing.T) {
	for _, tt := range []struct {
		fixture string
		lane    host.Lane
		want    string
	}{
		{"keep-first", host.LaneJSON, `{"keep":[0]}`},
		{"row-missing", host.LaneJSON, `{"keep":[0,99]}`},
		{"batch-keep-first", host.LaneBatch, "ANCC"},
		{"batch-truncated", host.LaneBatch, "ANCC"},
	} {
		x, err := loadFixture(t, tt.fixture).Exchange(t.Context(), abi.OpFilter, tt.lane, []byte("not a request"))
		if err != nil || x.Status != abi.StatusDone || !strings.HasPrefix(string(x.Output), tt.want) {
			t.Errorf("%s: %+v, error %v, want output %q", tt.fixture, x, err, tt.want)
			continue
		}
		if x.Memory < 1<<16 || x.Fuel == 0 || x.Time <= 0 {
			t.Errorf("%s: memory %d, fuel %d, time %v", tt.fixture, x.Memory, x.Fuel, x.Time)
		}
	}
	x, err := loadFixture(t, "no-change").Exchange(t.Context(), abi.OpFilter, host.LaneJSON, nil)
	if err != nil || x.Status != abi.StatusNoChange {
		t.Errorf("%+v, error %v", x, err)
	}
}

func TestExchangeRefuses(t *testing.T) {
	p := loadFixture(t, "keep-first")
	if _, err := p.Exchange(t.Context(), abi.OpRerank, host.LaneJSON, nil); !errors.Is(err, host.ErrNoOperation) {
		t.Errorf("operation it does not have: %v", err)
	}
	if _, err := p.Exchange(t.Context(), abi.OpFilter, host.LaneBatch, nil); !errors.Is(err, host.ErrConfig) {
		t.Errorf("lane it does not have: %v", err)
	}
	var failed *host.PluginError
	if _, err := p.Exchange(t.Context(), abi.OpFilter, host.LaneJSON, make([]byte, host.DefaultInput+1)); !errors.As(err, &failed) || failed.Code != abi.ReasonInputTooLarge {
		t.Errorf("too large: %v", err)
	}
	if _, err := loadFixture(t, "trap").Exchange(t.Context(), abi.OpFilter, host.LaneJSON, nil); !errors.As(err, &failed) || failed.Code != abi.ReasonTrap {
		t.Errorf("trap: %v", err)
	}
}
