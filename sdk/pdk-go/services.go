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

// Log writes a message to the host's log, where it carries the names of the
// plugin and the step. Levels the host does not want cost one call.
func Log(level Level, msg string) { imports.Log(imports.Level(level), msg) }

// Logf formats and logs. Nothing is formatted at levels the host does not want.
func Logf(level Level, format string, args ...any) {
	if imports.Enabled(imports.Level(level)) {
		Log(level, fmt.Sprintf(format, args...))
	}
}

// Config returns a value of the plugin's own configuration, and whether it has
// one. Top-level scalars of the init settings are there too. For structure use
// settings.
func Config(key string) (string, bool) { return imports.Config(key) }

// InitSettings returns the settings the plugin was configured with, as an S.
// They arrive with init, so the plugin must import package setup; before init
// ran, and without settings, S is zero.
//
//	s, err := pdk.InitSettings[Settings]()
func InitSettings[S any]() (*S, error) { return settings.Init[S]() }

// CountTokens returns the number of tokens of text, as the host's tokenizer
// counts. It needs the permission service: count_tokens; calling it without ends
// the call, and the host reports denied.
func CountTokens(text string) (int, error) {
	n := imports.CountTokens(text)
	if n < 0 {
		return 0, Errorf("count tokens: host answered %d", n)
	}
	return int(n), nil
}

// DecodeSettings decodes settings as handlers receive theirs: a Defaults method
// of *S runs before, a Validate method after. For tests of plugin logic.
func DecodeSettings[S any](raw json.RawMessage) (*S, error) { return settings.Decode[S](raw) }
