package imports

import (
	extism "github.com/extism/go-pdk"
)

// Input returns the input of the call in the JSON lane.
func Input() []byte { return extism.Input() }

// Output sets the output of the call in the JSON lane.
func Output(b []byte) { extism.Output(b) }

// SetError sets the message of the error that the call fails with.
func SetError(msg string) { extism.SetErrorString(msg) }

// Config returns the configuration value of key.
func Config(key string) (string, bool) { return extism.GetConfig(key) }

//go:wasmimport extism:host/env get_log_level
func getLogLevel() int32

//go:wasmimport extism:host/env log_trace
func logTrace(msg uint64)

// Enabled reports whether the host wants messages of that level.
func Enabled(level Level) bool { return int32(level) >= getLogLevel() }

// Log sends a message to the host's log. It does not use go-pdk for trace messages, because
// go-pdk logs them as errors.
func Log(level Level, msg string) {
	if !Enabled(level) {
		return
	}
	m := extism.AllocateString(msg)
	if level == LevelTrace {
		logTrace(m.Offset())
		return
	}
	extism.LogMemory(extism.LogLevel(level), m)
}

//go:wasmimport extism:host/user anchor_kv_get
func kvGet(key uint64) uint64

//go:wasmimport extism:host/user anchor_kv_set
func kvSet(key, value uint64) int32

//go:wasmimport extism:host/user anchor_count_tokens
func countTokens(text uint64) uint64

// KVGet returns the value of key.
func KVGet(key string) ([]byte, bool) {
	k := extism.AllocateString(key)
	v := kvGet(k.Offset())
	if v == 0 {
		return nil, false
	}
	m := extism.FindMemory(v)
	return m.ReadBytes(), true
}

// KVSet stores value under key and returns a status, which is 0 on success. An
// empty value deletes the key.
func KVSet(key string, value []byte) int32 {
	k := extism.AllocateString(key)
	if len(value) == 0 {
		return kvSet(k.Offset(), 0)
	}
	v := extism.AllocateBytes(value)
	return kvSet(k.Offset(), v.Offset())
}

// CountTokens returns the number of tokens of text.
func CountTokens(text string) int64 {
	m := extism.AllocateString(text)
	return int64(countTokens(m.Offset()))
}
