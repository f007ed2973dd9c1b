package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/explaincmd"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
)

// buildRequest builds as a request document describes, and prints a result or an error document.
func (a *app) buildRequest(cmd *cobra.Command, f *buildFlags, args []string) error {
	if len(args) > 0 {
		return cli.Usagef(cmd, "a query and --request exclude each other (the request states the query)")
	}
	if err := refuseFlags(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("output") && f.output != "json" {
		return cli.Usagef(cmd, "--request prints JSON only")
	}
	result, run, err := a.runRequest(cmd, f)
	if run != nil {
		defer run.close(cmd.Context())
	}
	if err != nil {
		var b bytes.Buffer
		doc := failure.Of(err)
		if printErr := cli.WriteJSON(&b, doc); printErr != nil {
			return printErr
		}
		if printErr := a.Emit(&b); printErr != nil {
			return printErr
		}
		return &lineError{doc.Error.Message, err}
	}
	var b bytes.Buffer
	if err := cli.WriteJSON(&b, result); err != nil {
		return err
	}
	if err := a.Emit(&b); err != nil {
		return err
	}
	return run.degraded(result)
}

// refuseFlags refuses the flags that would have no effect.
func refuseFlags(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if why := request.Refused(f.Name, request.BesideFlags); err == nil && why != "" {
			err = cli.Usagef(cmd, "--%s and --request exclude each other (%s)", f.Name, why)
		}
	})
	return err
}

func (a *app) runRequest(cmd *cobra.Command, f *buildFlags) (*pipeline.Result, *buildRun, error) {
	base, err := a.requestBase(cmd)
	if err != nil {
		return nil, nil, err
	}
	r, name, err := a.Open(f.request)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	// The document is read before the build's time limit starts, because its writer may take
	// long.
	document, err := io.ReadAll(io.LimitReader(r, request.MaxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	run := &buildRun{app: a, config: base, strict: f.strict, silent: true, record: f.record}
	run.options.Only, run.options.Skip, run.options.Remember = f.only, f.skip, f.remember
	run.options.User, run.options.Session = f.user, f.session
	if run.options.Conversation, err = cmd.Flags().GetString("conversation"); err != nil {
		return nil, nil, err
	}
	if run.options.Previous, err = explaincmd.ReadPrevious(a.App, f.previous); err != nil {
		return nil, run, err
	}
	run.name = name
	result, err := run.do(cmd.Context(), pipeline.Query{}, document)
	return result, run, err
}

// requestBase returns the configuration whose plugin folder and instances a
// request may use. A request is complete in itself, so a file counts only when
// it is named.
func (a *app) requestBase(cmd *cobra.Command) (*config.Loaded, error) {
	if cmd.Flags().Changed("config") {
		return a.Load(cmd)
	}
	base := config.Default()
	return base, a.Override(cmd, base)
}

// lineError is an error whose text is one line.
type lineError struct {
	line string
	err  error
}

func (e *lineError) Error() string { return e.line }
func (e *lineError) Unwrap() error { return e.err }
