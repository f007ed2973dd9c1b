package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// app is one run of the program.
type app struct {
	in       io.Reader
	out      io.Writer
	err      *messages
	settings *viper.Viper
	// interrupted is closed when the user interrupts.
	interrupted <-chan struct{}
	// started is set once the command line is understood.
	started bool
}

func newApp(ctx context.Context, in io.Reader, out, err io.Writer) *app {
	a := &app{out: out, err: newMessages(err), settings: viper.New(), interrupted: ctx.Done()}
	if isTerminal(out) { // data keep their bytes elsewhere
		a.out = &plain.Writer{To: out}
	}
	a.in = &input{r: in, interrupted: a.interrupted}
	for _, o := range config.Overrides {
		_ = a.settings.BindEnv(o.Path, o.Env()) // fails only without a key
	}
	_ = a.settings.BindEnv("config", config.EnvPrefix+"CONFIG")
	return a
}

// messages is stderr, shared by everything that has something to say: lines of this
// command, log lines, and what toolchains write. Nothing in them acts on a terminal.
type messages struct {
	mu    sync.Mutex
	raw   io.Writer
	plain plain.Writer
}

func newMessages(w io.Writer) *messages { return &messages{raw: w, plain: plain.Writer{To: w}} }

// Write implements io.Writer.
func (m *messages) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.plain.Write(b)
}

// terminal says whether somebody may be watching.
func (m *messages) terminal() bool { return isTerminal(m.raw) }

// drawing writes to a terminal as it is, for what moves the cursor on purpose.
type drawing struct{ *messages }

// Write implements io.Writer.
func (d drawing) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.raw.Write(b)
}

// isTerminal says whether what is written goes to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// run wraps the work of a command: from here on errors are not mistakes on the
// command line.
func (a *app) run(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return f(cmd, args)
	}
}

// say prints one message line, whatever the arguments hold.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.err, "anchor-host: "+plain.Line(fmt.Sprintf(format, args...)))
}

// emit writes the data of a command in one piece, so that an interrupted
// command has printed all or nothing.
func (a *app) emit(b *bytes.Buffer) error {
	if _, err := a.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// emitText is emit for text about data, in which nothing acts on a terminal, wherever it
// goes. JSON keeps its meaning.
func (a *app) emitText(b *bytes.Buffer) error {
	return a.emit(bytes.NewBufferString(plain.Text(b.String())))
}

// load reads the configuration of a command: the file, then environment and
// flags. Without --config the file of the current folder is used if it is
// there.
func (a *app) load(cmd *cobra.Command) (*config.Loaded, error) {
	path := a.configPath(cmd)
	loaded := config.Default()
	if path != "" {
		var err error
		if loaded, err = a.loadFile(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w (write one with: anchor-host init)", err)
		} else if err != nil {
			return nil, err
		}
	}
	return loaded, a.override(cmd, loaded)
}

// loadFile reads a configuration file, which may be a named pipe.
func (a *app) loadFile(path string) (*config.Loaded, error) {
	return await(a.interrupted, func() (*config.Loaded, error) { return config.Load(path) })
}

// configPath returns the configuration file in use, or "".
func (a *app) configPath(cmd *cobra.Command) string {
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

// override applies the environment and the flags of a command. An empty
// variable counts as not set.
func (a *app) override(cmd *cobra.Command, loaded *config.Loaded) error {
	for _, o := range config.Overrides {
		flag := flagOf(cmd, o)
		if flag != nil {
			_ = a.settings.BindPFlag(o.Path, flag) // fails only for a nil flag
		}
		switch {
		case flag != nil && flag.Changed:
			if err := loaded.Override(o, a.settings.GetString(o.Path), "flag --"+o.Flag); err != nil {
				return usagef(cmd, "flag --%s: %w", o.Flag, err)
			}
		case os.Getenv(o.Env()) != "":
			if err := loaded.Override(o, a.settings.GetString(o.Path), "environment "+o.Env()); err != nil {
				return fmt.Errorf("%w: environment %s: %w", config.ErrInvalid, o.Env(), err)
			}
		}
	}
	return loaded.CheckOverrides()
}

// settingOf is the annotation of a flag that sets another value than the flag of
// the same name does elsewhere.
const settingOf = "setting"

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

// logger writes log lines of the configured level to stderr.
func (a *app) logger(c *config.Config) *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: logLevel(c), ReplaceAttr: dropTime}))
}

// logLevel returns the least level of log lines.
func logLevel(c *config.Config) slog.Level {
	level := slog.LevelWarn
	if c.LogLevel != "" {
		_ = level.UnmarshalText([]byte(c.LogLevel)) // checked with the configuration
	}
	return level
}

// dropTime leaves the time out of log lines: a command's life is short.
func dropTime(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) == 0 && attr.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return attr
}
