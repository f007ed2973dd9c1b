package pdk

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/settings"
)

// Level is the severity of a log message.
type Level int32

// The levels, ascending.
const (
	LevelTrace = Level(imports.LevelTrace)
	LevelDebug = Level(imports.LevelDebug)
	LevelInfo  = Level(imports.LevelInfo)
	LevelWarn  = Level(imports.LevelWarn)
	LevelError = Level(imports.LevelError)
)

// Log writes a message to the host's log, with the names of the plugin and the step. At a
// level that the host does not log, it costs one call.
func Log(level Level, msg string) { imports.Log(imports.Level(level), msg) }

// Logf formats and logs a message. It does not format at a level that the host does not log.
func Logf(level Level, format string, args ...any) {
	if imports.Enabled(imports.Level(level)) {
		Log(level, fmt.Sprintf(format, args...))
	}
}

// Config returns a value of the plugin's own configuration, and whether there is one. The
// configuration includes the top-level scalars of the init settings. For lists and objects
// use settings.
func Config(key string) (string, bool) { return imports.Config(key) }

// InitSettings returns the settings that the plugin was configured with, as an S. They arrive
// with init, so the plugin must import package setup. Before init, and without settings, S
// is zero.
//
//	s, err := pdk.InitSettings[Settings]()
func InitSettings[S any]() (*S, error) { return settings.Init[S]() }

// CountTokens returns the number of tokens of text, counted by the host's tokenizer. It needs
// the permission service: count_tokens. Without the permission it ends the call with the
// reason denied.
func CountTokens(text string) (int, error) {
	n := imports.CountTokens(text)
	if n < 0 {
		return 0, Errorf("count tokens: host answered %d", n)
	}
	return int(n), nil
}

// DecodeSettings decodes settings as the SDK does for handlers: a Defaults method of *S runs
// before, a Validate method after. It is for tests of plugin logic.
func DecodeSettings[S any](raw json.RawMessage) (*S, error) { return settings.Decode[S](raw) }
