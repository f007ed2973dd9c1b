// Package replaycmd implements "anchor-host replay".
package replaycmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// errDiffers is the error of a replay that is not the recorded build.
var errDiffers = errors.New("the replay differs from the recorded build")

// report is the outcome of a replay.
type report struct {
	Same        bool                 `json:"same"`
	Differences []explain.Difference `json:"differences"`
	// Asked is what the build asked for and the recording does not have.
	Asked []string `json:"not_in_the_recording"`
	Notes []string `json:"notes"`
}

// Command returns "replay".
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay [flags] DIR",
		Short: "Repeat a recorded build, and print the first step that differs",
		Long: `Repeat the build that "anchor-host build --record DIR" has recorded, with the plugins and
the configuration of this machine. The answers of servers, models, embedders and the
store come from the recording, and nothing is stored.

The result must be the same byte for byte, but for times. If it is not, the plugins with
another module come first, then settings with other values, then the first step that
differs, with the first item, and the first part of the result. The exit code is then 1.`,
		Example: `  anchor-host build --record rec "how do I cancel a request?"
  anchor-host replay rec
  anchor-host replay rec --config other.yaml -o json`,
		Args: cli.Exactly("DIR"),
	}
	cli.ConfigFlag(cmd)
	cmd.Flags().String("plugins", "", "plugin folder")
	cmd.Flags().String("cache-dir", "", "folder of compiled plugins; off keeps none")
	format := cli.FormatFlag(cmd, "text", "json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		r, err := replay(a, cmd, args[0])
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if *format == "json" {
			if err := cli.WriteJSON(&b, r); err != nil {
				return err
			}
		} else {
			r.write(&b)
		}
		if err := a.EmitText(&b); err != nil || r.Same {
			return err
		}
		return errDiffers
	})
	return cmd
}

// replay repeats the build of a recording.
func replay(a *cli.App, cmd *cobra.Command, dir string) (_ *report, err error) {
	recording, err := anchor.ReadRecording(dir)
	if err != nil {
		return nil, err
	}
	loaded, err := load(a, cmd, recording)
	if err != nil {
		return nil, err
	}
	given := recording.Given()
	for _, o := range config.Overrides {
		if v, ok := given[o.Path]; ok {
			if err := loaded.Override(o, v, "recording"); err != nil {
				return nil, err
			}
		}
	}
	app, err := anchor.Open(cmd.Context(), loaded, anchor.Options{Logger: a.Logger(&loaded.Config), Lazy: true, Tape: recording.Tape()})
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, app.Close(context.WithoutCancel(cmd.Context()))) }()
	out := &report{Differences: []explain.Difference{}, Asked: []string{}, Notes: append([]string{}, recording.Notes()...)}
	differences, asked, err := app.Replay(cmd.Context(), recording)
	if err != nil {
		return nil, err
	}
	out.Differences, out.Asked = append(out.Differences, differences...), append(out.Asked, asked...)
	out.Same = len(out.Differences) == 0 && len(out.Asked) == 0
	return out, nil
}

// load loads the configuration. A build without a configuration file, such as that of a request,
// takes one only if it is named.
func load(a *cli.App, cmd *cobra.Command, recording *anchor.Recording) (*config.Loaded, error) {
	if recording.HasFile() || cmd.Flags().Changed("config") {
		return a.Load(cmd)
	}
	loaded := config.Default()
	return loaded, a.Override(cmd, loaded)
}

// write writes the report as lines.
func (r *report) write(b *bytes.Buffer) {
	if r.Same {
		b.WriteString("the same, byte for byte\n")
	}
	for i := range r.Differences {
		fmt.Fprintf(b, "%s\n", cli.OneCell(r.Differences[i].String()))
	}
	for _, asked := range r.Asked {
		fmt.Fprintf(b, "not in the recording: %s\n", cli.OneCell(asked))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", cli.OneCell(note))
	}
}
