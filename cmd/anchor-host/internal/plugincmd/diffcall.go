package plugincmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
)

// replayer calls a plugin with cases. What the plugin asks the host for, the case or the
// http.json of the folder answers.
type replayer struct {
	host     *host.Host
	spec     *spec.Spec
	config   host.PluginConfig
	own      *ownTests
	requests *conform.Exchanges // answers the requests of the call that runs
}

// newReplayer makes a host for a plugin and its cases. The caller closes it.
func newReplayer(cacheDir string, s *spec.Spec, own *ownTests, progress *cli.Progress) (*replayer, error) {
	r := &replayer{spec: s, own: own, requests: &conform.Exchanges{}}
	cfg := host.Config{
		Logger: slog.New(slog.DiscardHandler), CacheDir: cacheDir, ImageCache: host.DefaultImageCache, DefaultLimits: neverBroken,
		OnCompile: progress.Compiling, HTTPTransport: r.requests,
	}
	conform.Replays(&cfg, &r.config, own.cases)
	conform.Serve(&cfg, &r.config, conform.ServicesOf(s.Manifest), own.cases)
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
	// Unlisted are the requests to servers and services that neither the case nor http.json answers,
	// such as "GET https://example.org/".
	Unlisted []string `json:"unlisted_requests,omitempty"`
	// Fuel is what the call used, 0 for one that failed.
	Fuel int64 `json:"fuel,omitempty"`
}

// answer calls the plugin with a case.
func (r *replayer) answer(ctx context.Context, c *conformance.OwnCase) answered {
	ctx = conformance.WithCase(ctx, c)
	r.requests.Run = conformance.NewExchanges(r.own.http)
	result, err := r.call(ctx, c)
	requests := conformance.ExchangesOf(ctx)
	if requests == nil {
		requests = r.requests.Run
	}
	out := answered{Unlisted: slices.Concat(requests.Unlisted(), conformance.ReplayOf(ctx).Unlisted())}
	if err != nil {
		out.Error, _, _ = strings.Cut(err.Error(), "\n")
		return out
	}
	out.Fuel = result.Fuel
	switch {
	case result.Status == abi.StatusNoChange:
		out.NoChange = true
	case !json.Valid(result.Output):
		out.Error = "the answer is not JSON"
	default:
		out.Output = result.Output
	}
	return out
}

// call loads the plugin with the settings of a case, and calls it once.
func (r *replayer) call(ctx context.Context, c *conformance.OwnCase) (*host.CallResult, error) {
	own, pc := *c, r.config
	if own.Operation == "" {
		own.Operation = r.onlyOperation()
	}
	if own.Settings == nil {
		own.Settings = r.own.settings[own.Operation]
	}
	if own.Init == nil {
		own.Init = r.own.settings[abi.OpInit]
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

// equals reports whether two answers mean the same, and the same requests were left without an
// answer. Fuel is not compared.
func (a *answered) equals(b *answered) bool {
	if a.Error != b.Error || a.NoChange != b.NoChange || !slices.Equal(a.Unlisted, b.Unlisted) {
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
	text := string(a.Output)
	switch {
	case a.Error != "":
		text = "error: " + a.Error
	case a.NoChange:
		text = "no change"
	}
	if len(a.Unlisted) == 0 {
		return text
	}
	return fmt.Sprintf("%s; no answer is listed for %s (list one in the case, or for HTTP in %s)", text, strings.Join(a.Unlisted, ", "), httpFile)
}

// failed reports whether the call failed, or a request of the plugin got no answer. Then there is
// nothing to compare.
func (a *answered) failed() bool { return a.Error != "" || len(a.Unlisted) > 0 }

// decoded is a JSON value with its numbers as they are written.
func decoded(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}
