package host_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// zero is the body of a function that returns 0.
var zero = sized([]byte("\x00\x41\x00\x0b"))

// nested is the body of a function that returns 0 behind so many blocks, one in the other.
func nested(depth int) []byte {
	body := append([]byte{0}, bytes.Repeat([]byte{0x02, 0x40}, depth)...)
	return sized(append(append(body, bytes.Repeat([]byte{0x0b}, depth)...), 0x41, 0, 0x0b))
}

// long is the body of a function of about 500 KB that returns 0.
func long() []byte {
	return sized(append(append([]byte{0}, bytes.Repeat([]byte{0x41, 0, 0x1a}, 166_000)...), 0x41, 0, 0x0b))
}

// functions are so many functions that return 0.
func functions(n int) []byte { return foreignModule(1, bytes.Repeat(zero, n), nil, n) }

// segments are so many data segments of a byte.
func segments(n int) []byte {
	return foreignModule(1, zero, many(n, []byte("\x00\x41\x08\x0b\x01x")), 1)
}

// beside is a module with a custom section of so many bytes.
func beside(n int) []byte {
	return foreignModule(1, zero, nil, 1, section{0, append([]byte("\x05debug"), make([]byte, n)...)})
}

// largeModules are as large as the host takes them, and larger: kind and want say how it
// refuses them.
var largeModules = []struct {
	name string
	make func() []byte
	kind error
	want string
	slow bool
}{
	{"100,000 functions", func() []byte { return functions(100_000) }, nil, "", false},
	{"more functions", func() []byte { return functions(100_001) }, host.ErrTooLarge, `limit exceeded: functions: 100001, allowed 100000`, false},
	{"50 MB of data", func() []byte {
		text := sized(bytes.Repeat([]byte("hostile!"), 50<<20/8))
		return foreignModule(800, zero, append([]byte("\x01\x00\x41\x00\x0b"), text...), 1)
	}, nil, "", false},
	{"50 MB of code", func() []byte { return foreignModule(1, bytes.Repeat(long(), 100), nil, 100) }, nil, "", true},
	{"50 MB beside the code", func() []byte { return beside(50 << 20) }, nil, "", false},
	{"65 MB beside the code", func() []byte { return beside(65 << 20) }, host.ErrTooLarge,
		`too large: 68157501 bytes, at most 67108864 (strip the module of debug information)`, false},
	{"nested 15,000 deep", func() []byte { return foreignModule(1, nested(15_000), nil, 1) }, nil, "", false},
	{"nested deeper", func() []byte { return foreignModule(1, nested(20_001), nil, 1) }, host.ErrTooLarge,
		`limit exceeded: nesting of blocks in function 0: 20001, allowed 20000`, false},
	{"100,000 data segments", func() []byte { return segments(100_000) }, nil, "", false},
	{"more data segments", func() []byte { return segments(100_001) }, host.ErrTooLarge, `limit exceeded: data segments: 100001, allowed 100000`, false},
}

// Modules at the limits of what the host takes load and serve, those beyond are refused,
// both long before anybody would give up, and nothing is left of either.
func TestLargeModules(t *testing.T) {
	h := newHost(t, host.Config{CacheDir: host.CacheOff})
	checkOtherPlugin(t, h)
	for _, tc := range largeModules {
		t.Run(tc.name, func(t *testing.T) {
			if tc.slow && (!thorough || underRace) {
				t.Skip("compiles for seconds (ANCHOR_THOROUGH=1 runs it), and far longer under the race detector")
			}
			wasm := tc.make()
			before, began := takeStock(t, h), time.Now()
			err := serve(t, h, wasm)
			checkTime(t, time.Since(began), badLimit, false)
			if tc.kind == nil && err != nil {
				t.Error(err)
			}
			if want := `plugin "large": ` + tc.want; tc.kind != nil && (!errors.Is(err, tc.kind) || err.Error() != want) {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			checkOtherPlugin(t, h)
			checkStock(t, h, before)
		})
	}
}

// serve reads a module, loads it, calls it twice and closes it.
func serve(t *testing.T, h *host.Host, wasm []byte) error {
	t.Helper()
	spec, err := spec.Read("large", wasm, nil)
	if err != nil {
		return err
	}
	p, err := h.Load(t.Context(), spec, host.PluginConfig{State: host.StateReset})
	if err != nil {
		return err
	}
	for range 2 {
		_, e := p.Call(t.Context(), "run", nil)
		err = errors.Join(err, e)
	}
	return errors.Join(err, p.Close(t.Context()))
}
