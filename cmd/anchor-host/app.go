package main

import (
	"context"
	"io"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// app has the commands of this package as methods. What a run of the program keeps is in
// the [cli.App], which the packages of other commands share.
type app struct{ *cli.App }

func newApp(ctx context.Context, in io.Reader, out, err io.Writer) *app {
	return &app{cli.New(ctx, in, out, err)}
}
