package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/store"
)

func (a *app) memoryGetCommand() *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "get [flags] HANDLE",
		Short: "Print the whole text of a result that was cut",
		Long: `Print the whole text of a tool's result. "assemble --run" cuts results that do not
fit, and puts a line with a handle, such as cut-1a2b3c4d5e6f7a8b9c0d, in the place of
what is missing. A run keeps the newest 256 texts of at most 2 MiB each, and at most
32 MiB of text. Without --run all runs of the tenant are searched.`,
		Example: `  anchor-host memory get cut-1a2b3c4d5e6f7a8b9c0d
  anchor-host memory get --run fix-42 cut-1a2b3c4d5e6f7a8b9c0d | grep error`,
		Args: cli.Exactly("HANDLE"),
	}
	cli.ConfigFlag(cmd)
	storeFlags(cmd)
	cmd.Flags().StringVar(&run, "run", "", "search only this agent run")
	cmd.RunE = a.withStoreToRead(func(cmd *cobra.Command, args []string, s *session) error {
		text, err := s.front.CutText(cmd.Context(), "", run, args[0])
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w (a run keeps the newest texts only)", err)
		}
		if err != nil {
			return err
		}
		return a.Emit(bytes.NewBufferString(text))
	})
	return cmd
}
