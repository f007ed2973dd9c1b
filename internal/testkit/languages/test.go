package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
)

// timeout bounds one call. Some examples run over 1,000 items in an interpreter, perhaps on
// a busy machine.
const timeout = 20 * time.Second

// testAll tests the selected examples that are built, and prints or writes the table.
func testAll(ctx context.Context, o *options, out io.Writer) (err error) {
	h, err := host.New(host.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	took := readTimes(o.Out)
	var results []result
	var errs []error
	skipped := 0
	for _, e := range examples() {
		if !o.selected(e.Language) {
			continue
		}
		path := e.module(o.Out)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && !o.CI {
			fmt.Fprintf(out, "%-8s %-16s skipped: not built (make plugins-all)\n", e.Language, e.Plugin)
			skipped++
			continue
		}
		r := result{example: e, Build: time.Duration(took[e.Language+"/"+e.Plugin]) * time.Millisecond, Times: map[host.Lane]time.Duration{}}
		if err := r.test(ctx, h, path, o); err != nil {
			err = fmt.Errorf("%s %s: %w", e.Language, e.Plugin, err)
			fmt.Fprintf(out, "%-8s %-16s FAILED\n", e.Language, e.Plugin)
			errs = append(errs, err)
			continue
		}
		results = append(results, r)
		fmt.Fprintf(out, "%-8s %-16s %3d conformance cases, %s\n", e.Language, e.Plugin, r.Passed, r.lanes())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	others, err := sized(o, took)
	if err != nil {
		return err
	}
	if o.Write && skipped > 0 {
		return fmt.Errorf("%s: write table: %d plugins are not built (make plugins-all)", o.README, skipped)
	}
	if o.Write {
		return writeMarked(o.README, stated(results, others))
	}
	fmt.Fprintf(out, "\n%s", table(results))
	return checkSizes(o.README, append(results, others...))
}

// sized returns the examples of one language each that are built, with their sizes. A test in
// plugins/examples runs their cases.
func sized(o *options, took times) (results []result, err error) {
	others, err := gallery()
	if err != nil {
		return nil, err
	}
	for _, e := range others {
		info, err := os.Stat(e.module(o.Out))
		if err != nil || !o.selected(e.Language) {
			continue
		}
		results = append(results, result{example: e, Size: info.Size(), Build: time.Duration(took[e.Language+"/"+e.Plugin]) * time.Millisecond})
	}
	return results, nil
}

// test runs the conformance kit, and in each lane the golden cases and the measurement. The
// host must be able to reset the plugin.
func (r *result) test(ctx context.Context, h *host.Host, path string, o *options) error {
	spec, err := spec.ReadFile(path)
	if err != nil {
		return err
	}
	r.Size = spec.Size
	if err := r.conform(ctx, h, spec, o); err != nil {
		return err
	}
	operation := spec.Operations[0]
	for _, lane := range operation.Lanes {
		if err := r.inLane(ctx, h, spec, operation.Operation, lane); err != nil {
			return fmt.Errorf("%s lane: %w", lane, err)
		}
	}
	return nil
}

func (r *result) conform(ctx context.Context, h *host.Host, spec *spec.Spec, o *options) error {
	report, err := conformance.Run(ctx, conform.New(h, spec, host.PluginConfig{}), conformance.Options{Short: o.Short})
	if err != nil {
		return err
	}
	r.Passed, r.Failed = report.Passed, report.Failed
	if report.OK() {
		return nil
	}
	var failed strings.Builder
	for _, c := range report.Results {
		if c.Verdict == conformance.Fail {
			fmt.Fprintf(&failed, "\n  %s %s %s: %s", c.Case, c.Operation, c.Lane, c.Detail)
		}
	}
	return fmt.Errorf("conformance: %d of %d cases failed:%s", report.Failed, report.Passed+report.Failed, failed.String())
}

func (r *result) inLane(ctx context.Context, h *host.Host, spec *spec.Spec, op abi.Operation, lane host.Lane) (err error) {
	p, err := h.Load(ctx, spec, host.PluginConfig{
		Name: r.Language + "-" + r.Plugin + "-" + string(lane), Lane: lane, Limits: host.Limits{Timeout: timeout},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	if p.State() != host.StateReset { // examples must show that their language supports the reset
		return fmt.Errorf("its state is not reset between calls, but %q: %q", p.State(), p.Notes())
	}
	if err := checkGolden(ctx, p, op, r.Plugin); err != nil {
		return err
	}
	r.Times[lane], err = measure(ctx, p, op)
	return err
}
