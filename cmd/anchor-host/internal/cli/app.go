// Package cli has the code that all commands share: the state of a run, reading input and
// writing output, messages and progress on stderr, flags that several commands have, and
// exit codes. It knows no command.
package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/viper"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/plain"
)

// App is one run of the program. There is one for each command line; every command gets it.
type App struct {
	// In is stdin. A read ends with [context.Canceled] when the user interrupts.
	In io.Reader
	// Out is stdout, for data. On a terminal, control characters become escapes.
	Out io.Writer
	// Err is stderr, for messages.
	Err *Messages
	// Patience is how long an action may take before a line reports it. 0: a second.
	Patience time.Duration
	// settings resolve flags, then the environment.
	settings *viper.Viper
	// interrupted is closed when the user interrupts.
	interrupted <-chan struct{}
	// started is true after the command line was parsed, and warned after unknown variables were named.
	started, warned bool
}

// New begins a run of the program. ctx ends when the user interrupts.
func New(ctx context.Context, in io.Reader, out, err io.Writer) *App {
	a := &App{Out: out, Err: newMessages(err), settings: viper.New(), interrupted: ctx.Done()}
	if isTerminal(out) { // elsewhere the bytes of data do not change
		a.Out = &plain.Writer{To: out}
	}
	a.In = &input{r: in, interrupted: a.interrupted}
	for _, o := range config.Overrides {
		_ = a.settings.BindEnv(o.Path, o.Env()) // fails only without a key
	}
	_ = a.settings.BindEnv("config", config.EnvPrefix+"CONFIG")
	return a
}

// Run wraps the function of a command. Errors of f are not mistakes on the command line, so
// they get no hint to --help. Flags that are given without a value are refused, and forms of the
// output that the command does not have.
func (a *App) Run(f func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		if err := refuseEmpty(cmd); err != nil {
			return err
		}
		if err := checkFormat(cmd); err != nil {
			return err
		}
		cmd.SetContext(observe.Noting(cmd.Context(), func(line string) { a.Say("%s", line) }))
		return f(cmd, args)
	}
}

// Say prints a message on one line. Line breaks in arguments become escapes.
func (a *App) Say(format string, args ...any) {
	fmt.Fprintln(a.Err, "anchor-host: "+plain.Line(fmt.Sprintf(format, args...)))
}

// Emit writes the data of a command in one piece, so that an interrupted command prints
// all or nothing.
func (a *App) Emit(b *bytes.Buffer) error {
	if _, err := a.Out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// EmitText is like [App.Emit] for text about data. It escapes control characters, even if
// stdout is not a terminal. The meaning of JSON does not change.
func (a *App) EmitText(b *bytes.Buffer) error {
	return a.Emit(bytes.NewBufferString(plain.Text(b.String())))
}

// Open opens a file, or stdin for "-", and returns its name for messages. A read that waits
// ends with [context.Canceled] when the user interrupts.
func (a *App) Open(path string) (io.ReadCloser, string, error) {
	if path == "-" {
		return io.NopCloser(a.In), "stdin", nil
	}
	f, err := await(a.interrupted, func() (*os.File, error) { return os.Open(path) })
	if errors.Is(err, fs.ErrPermission) {
		return nil, path, fmt.Errorf("%w (allow this user to read the file)", err)
	}
	if err != nil {
		return nil, path, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		_ = f.Close() // nothing was read
		return nil, path, fmt.Errorf("open %s: is a folder (name a file)", path)
	}
	return &inputFile{input{r: f, interrupted: a.interrupted}, f}, path, nil
}
