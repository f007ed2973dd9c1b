package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// Load reads the configuration of a command: from the file, then from the environment, then
// from the flags. Without --config it reads the file in the current folder, if there is one.
func (a *App) Load(cmd *cobra.Command) (*config.Loaded, error) {
	path := a.configPath(cmd)
	loaded := config.Default()
	if path != "" {
		var err error
		if loaded, err = a.LoadFile(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w (write one with: anchor-host init)", err)
		} else if err != nil {
			return nil, err
		}
	}
	return loaded, a.Override(cmd, loaded)
}

// LoadNamed is Load for a command that runs in folders of others: it reads no file but the one that --config or
// ANCHOR_HOST_CONFIG names.
func (a *App) LoadNamed(cmd *cobra.Command) (*config.Loaded, error) {
	if cmd.Flags().Changed("config") || os.Getenv(config.EnvPrefix+"CONFIG") != "" {
		return a.Load(cmd)
	}
	loaded := config.Default()
	return loaded, a.Override(cmd, loaded)
}

// LoadFile reads a configuration file, which may be a named pipe.
func (a *App) LoadFile(path string) (*config.Loaded, error) {
	return await(a.interrupted, func() (*config.Loaded, error) { return config.Load(path) })
}

// configPath returns the configuration file in use, or "".
func (a *App) configPath(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("config"); f != nil {
		_ = a.settings.BindPFlag("config", f) // fails only for a nil flag
	}
	if path := a.settings.GetString("config"); path != "" {
		return path
	}
	if _, err := os.Stat(config.DefaultFile); err == nil {
		return config.DefaultFile
	}
	return ""
}

// Override applies the environment and the flags of a command to a configuration. It ignores
// variables that are empty.
func (a *App) Override(cmd *cobra.Command, loaded *config.Loaded) error {
	for _, o := range config.Overrides {
		flag := flagOf(cmd, o)
		if flag != nil {
			_ = a.settings.BindPFlag(o.Path, flag) // fails only for a nil flag
		}
		switch {
		case flag != nil && flag.Changed:
			if err := loaded.Override(o, a.settings.GetString(o.Path), "flag --"+o.Flag); err != nil {
				return Usagef(cmd, "flag --%s: %w", o.Flag, err)
			}
		case os.Getenv(o.Env()) != "":
			if err := loaded.Override(o, a.settings.GetString(o.Path), "environment "+o.Env()); err != nil {
				return fmt.Errorf("%w: environment %s: %w", config.ErrInvalid, o.Env(), err)
			}
		}
	}
	if err := overrideSet(cmd, loaded); err != nil {
		return err
	}
	a.warnOfVariables()
	err := loaded.CheckOverrides()
	if err != nil && loaded.OverriddenBy("flag ") {
		return Usagef(cmd, "%w", err)
	}
	return err
}

// warnOfVariables says once which variables have no effect.
func (a *App) warnOfVariables() {
	if a.warned {
		return
	}
	a.warned = true
	for _, what := range UnknownVariables(os.Environ()) {
		a.Say("warning: %s", what)
	}
}

// UnknownVariables says of each variable that looks like a setting, and is none, which one it may be.
func UnknownVariables(environ []string) (unknown []string) {
	known := []string{"CONFIG", strings.TrimPrefix(PasswordVariable, config.EnvPrefix)}
	for _, o := range config.Overrides {
		known = append(known, strings.TrimPrefix(o.Env(), config.EnvPrefix))
	}
	lower := strings.Split(strings.ToLower(strings.Join(known, " ")), " ")
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		own, ok := strings.CutPrefix(name, config.EnvPrefix)
		if !ok || slices.Contains(known, own) || runtime.GOOS == "windows" && slices.Contains(lower, strings.ToLower(own)) {
			continue
		}
		hint := ""
		if near := nearVariable(strings.ToLower(own), lower); near != "" {
			hint = " (did you mean " + config.EnvPrefix + strings.ToUpper(near) + "?)"
		}
		unknown = append(unknown, name+" is no setting"+hint)
	}
	return unknown
}

// nearVariable returns the known name that lacks nothing but its section, or that is most similar.
func nearVariable(name string, known []string) (near string) {
	for _, k := range known {
		if strings.HasSuffix(k, "_"+name) && (near == "" || len(k) < len(near)) {
			near = k
		}
	}
	return cmp.Or(near, nearest.Name(name, known))
}

// flagOf returns the flag of a command that sets a value, or nil.
func flagOf(cmd *cobra.Command, o config.Override) *pflag.Flag {
	flag := cmd.Flags().Lookup(o.Flag)
	if o.Flag == "" || flag == nil {
		return nil
	}
	path := config.FlagPath(o.Flag)
	if own := flag.Annotations[settingOf]; len(own) > 0 {
		path = own[0]
	}
	if path != o.Path {
		return nil
	}
	return flag
}

// Logger returns a logger that writes lines of the configured level to stderr.
func (a *App) Logger(c *config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: LogLevel(c), ReplaceAttr: dropTime}))
}

// LogLevel returns the configured level of log lines, warnings by default.
func LogLevel(c *config.Config) slog.Level {
	level := slog.LevelWarn
	if c.Telemetry.LogLevel != "" {
		_ = level.UnmarshalText([]byte(c.Telemetry.LogLevel)) // checked with the configuration
	}
	return level
}

// dropTime removes the time from log lines, because a command runs only for a short time.
func dropTime(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}
