package guest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
	"github.com/anchor-host/anchor-host/host/internal/kernel"
)

// Functions are functions of abi.Imports by name: those that need nothing but the instance.
var Functions = map[string]Function{
	"config_get": configGet,
	"var_get":    varGet,
	"var_set":    varSet,

	"http_status_code": func(c *Call, s []uint64) { s[0] = uint64(c.Instance.Extism.HTTP.Status) },
	"http_headers":     httpHeaders,

	"log_trace":     logAt(levelTrace),
	"log_debug":     logAt(slog.LevelDebug),
	"log_info":      logAt(slog.LevelInfo),
	"log_warn":      logAt(slog.LevelWarn),
	"log_error":     logAt(slog.LevelError),
	"get_log_level": logLevel,
}

func httpHeaders(c *Call, s []uint64) { s[0] = c.Put(c.Instance.Extism.HTTP.Headers) }

func configGet(c *Call, s []uint64) {
	key := c.name(s[0])
	value, ok := c.Instance.Env.Values[key]
	s[0] = 0
	if ok {
		s[0] = c.Put([]byte(value))
	}
}

func varGet(c *Call, s []uint64) {
	key := c.name(s[0])
	s[0] = c.Put(c.Instance.Extism.vars.values[key])
}

func varSet(c *Call, s []uint64) {
	k, v := c.Instance.Extism.Kernel, &c.Instance.Extism.vars
	if k.Length(s[0]) == 0 {
		return
	}
	key := c.Key(s[0], "var_set: the name")
	value, ok := k.Bytes(s[1])
	if !ok {
		v.bytes -= v.size(key)
		delete(v.values, key)
		return
	}
	size := v.bytes - v.size(key) + len(key) + len(value)
	if size > varQuota {
		panic(Faultf(abi.ReasonMemory, "variables need %d bytes, allowed %d", size, varQuota))
	}
	if v.values == nil {
		v.values = map[string][]byte{}
	}
	c.Spend(int64(len(value)))
	v.values[key], v.bytes = append([]byte(nil), value...), size
}

// levelTrace is below slog's lowest named level.
const levelTrace = slog.LevelDebug - 4

// logAt logs a block. What is logged as an error is also kept for the error of the call if the
// logger does not record it, as helper libraries log why a guest panics. It does not free the block, as some plugin kits do so themselves.
func logAt(level slog.Level) Function {
	return Blocking(func(c *Call, s []uint64) {
		text, ok := c.Instance.Extism.Kernel.Bytes(s[0])
		log := c.Instance.Env.Log
		if !ok || level < slog.LevelError && !log.Enabled(c, level) {
			return
		}
		msg := clipBytes(text, maxLogLine)
		c.Spend(costLog + int64(len(msg)))
		if column, ok := abi.UnsentColumn(msg); ok && level == slog.LevelWarn && c.unsent(column) {
			return
		}
		c.Record.Logged(levelName(level), msg)
		if c.Instance.WASI.Output.Line(levelName(level), msg) {
			log.Log(c, level, guesttext.Line(msg), "from", "guest")
		}
	})
}

// unsent logs that the guest reads a column that it did not receive, once for all calls of the
// plugin. It is the author's mistake, unless the manifest names the column: then the configuration
// does not send it. It returns false if the call serves no operation of a manifest.
func (c *Call) unsent(column abi.Column) bool {
	e, op := c.Instance.Env, abi.Operation(strings.TrimPrefix(string(c.Op), "anchor_"))
	declared, ok := e.Declared(op)
	if !ok {
		return false
	}
	level, msg := slog.LevelDebug, fmt.Sprintf("%s reads the column %s, which the configuration does not send", op, column)
	if !declared.Has(column) {
		level = slog.LevelWarn
		msg = fmt.Sprintf("%s reads the column %s, but the manifest does not name it, so it is empty: name %[2]s under reads of %[1]s in plugin.yaml", op, column)
		c.Instance.WASI.Output.Line(levelName(level), msg)
	}
	if _, told := e.told.LoadOrStore(msg, true); !told {
		e.Log.Log(c, level, msg)
	}
	return true
}

// maxLogLine bounds one log message of a guest, in bytes.
const maxLogLine = 8 << 10

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "trace"
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}

// logLevel returns the result of LowestLevel to the guest.
func logLevel(c *Call, s []uint64) { s[0] = LowestLevel(c, c.Instance.Env.Log) }

// LowestLevel is the lowest level that the logger records: 0 trace to 4 error, 2^31-1 if it
// records none.
func LowestLevel(ctx context.Context, log *slog.Logger) uint64 {
	levels := []slog.Level{levelTrace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for i, l := range levels {
		if log.Enabled(ctx, l) {
			return uint64(i)
		}
	}
	return 1<<31 - 1
}

// KernelFunction is a function of the kernel in Go, nil if the kernel has no function of that name.
func KernelFunction(name string) Function {
	fn := kernel.LocalFunctions[name]
	switch {
	case fn == nil:
		return nil
	case name == "alloc":
		return func(c *Call, s []uint64) {
			fn(c.Instance.Extism.local, s)
			c.Spend(0)
		}
	}
	return func(c *Call, s []uint64) { fn(c.Instance.Extism.local, s) }
}

// OfferSettle instantiates the function that a linked kernel calls each time it has used a
// slice of fuel.
func OfferSettle(ctx context.Context, rt wazero.Runtime) error {
	_, err := rt.NewHostModuleBuilder(kernel.HostModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(ctx context.Context, _ []uint64) { CallOf(ctx).Spend(0) }), nil, nil).
		Export(kernel.SettleName).Instantiate(ctx)
	return err
}
