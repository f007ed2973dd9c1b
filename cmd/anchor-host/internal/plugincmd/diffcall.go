package plugincmd

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
)

// replayer calls a plugin with cases. What the plugin asks the host for, the case answers.
type replayer struct {
	host   *host.Host
	spec   *spec.Spec
	config host.PluginConfig
}

// newReplayer makes a host for a plugin and its cases. The caller closes it.
func newReplayer(cacheDir string, s *spec.Spec, cases []conformance.OwnCase, progress *cli.Progress) (*replayer, error) {
	cfg := host.Config{
		Logger: slog.New(slog.DiscardHandler), CacheDir: cacheDir, ImageCache: host.DefaultImageCache, DefaultLimits: neverRested,
		OnCompile: progress.Compiling, HTTPTransport: conform.Exchanges{Run: conformance.NewExchanges(nil)},
	}
	r := &replayer{spec: s}
	conform.Replays(&cfg, &r.config, cases)
	conform.Serve(&cfg, &r.config, conform.ServicesOf(s.Manifest), cases)
	r.config.Grants.HTTP = conform.GrantHTTP(s.Manifest)
	r.config = conform.Settle(r.config)
	var err error
	r.host, err = host.New(cfg)
	return r, err
}

func (r *replayer) close(ctx context.Context) { r.host.Close(context.WithoutCancel(ctx)) }

// answered is what a plugin answered to a case.
type answered struct {
	// Output is the answer, absent for no change and for an error.
	Output   json.RawMessage `json:"output,omitempty"`
	NoChange bool            `json:"no_change,omitempty"`
	// Error is why the call failed or could not be made, in one line.
	Error string `json:"error,omitempty"`
	// Fuel is what the call used, 0 for one that failed.
	Fuel int64 `json:"fuel,omitempty"`
}

// answer calls the plugin with a case.
func (r *replayer) answer(ctx context.Context, c *conformance.OwnCase) answered {
	result, err := r.call(conformance.WithCase(ctx, c), c)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return answered{Error: line}
	}
	out := answered{NoChange: result.Status == abi.StatusNoChange, Fuel: result.Fuel}
	if out.NoChange {
		return out
	}
	if !json.Valid(result.Output) {
		return answered{Error: "the answer is not JSON", Fuel: result.Fuel}
	}
	out.Output = result.Output
	return out
}

// call loads the plugin with the settings of a case, and calls it once.
func (r *replayer) call(ctx context.Context, c *conformance.OwnCase) (*host.CallResult, error) {
	own, pc := *c, r.config
	if own.Operation == "" {
		own.Operation = r.onlyOperation()
	}
	settings, err := r.spec.CheckSettings(own.Operation, own.Settings)
	if err != nil {
		return nil, err
	}
	pc.Settings, pc.Config, pc.State = own.Init, own.Config, host.StateAuto
	one, err := conformance.NewCase(conform.New(nil, r.spec, pc).Describe(), &own, settings)
	if err != nil {
		return nil, err
	}
	plugin, err := r.host.Load(ctx, r.spec, pc)
	if err != nil {
		return nil, err
	}
	defer plugin.Close(context.WithoutCancel(ctx))
	return plugin.Call(ctx, own.Operation.JSONExport(), one.Document)
}

// onlyOperation is the operation of a plugin that has one, "" if it has several.
func (r *replayer) onlyOperation() (only abi.Operation) {
	for _, o := range r.spec.Operations {
		switch {
		case o.Operation == abi.OpInit:
		case only != "":
			return ""
		default:
			only = o.Operation
		}
	}
	return only
}

// equals reports whether two answers mean the same. Fuel is not compared.
func (a *answered) equals(b *answered) bool {
	if a.Error != b.Error || a.NoChange != b.NoChange {
		return false
	}
	if bytes.Equal(a.Output, b.Output) {
		return true
	}
	x, xerr := decoded(a.Output)
	y, yerr := decoded(b.Output)
	return xerr == nil && yerr == nil && reflect.DeepEqual(x, y)
}

// text is an answer in one line.
func (a *answered) text() string {
	switch {
	case a.Error != "":
		return "error: " + a.Error
	case a.NoChange:
		return "no change"
	}
	return string(a.Output)
}

// decoded is a JSON value with its numbers as they are written.
func decoded(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}
