package plugincmd

import (
	"fmt"
	"io"
	"maps"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/internal/config"
)

// maxRequestFile bounds a file of --request, which may hold the largest request of the kit.
const maxRequestFile = 64 << 20

// fromCase prepares the call of a case, as plugin test makes it.
func (c *plannedCall) fromCase(file string) error {
	own, err := c.readCase(file)
	if err != nil {
		return err
	}
	pc := &c.config
	conform.Replays(&c.host, pc, []conformance.OwnCase{*own})
	conform.Serve(&c.host, pc, conform.ServicesOf(c.spec.Manifest), []conformance.OwnCase{*own})
	if own.HTTP != nil {
		c.host.HTTPTransport = conform.Exchanges{Run: conformance.NewExchanges(own.HTTP)}
		if pc.Grants.HTTP == nil {
			pc.Grants.HTTP = conform.GrantHTTP(c.spec.Manifest)
		}
	}
	pc.Settings = merged(own.Init, pc.Settings)
	if own.Config != nil {
		pc.Config = merged(own.Config, pc.Config)
	}
	*pc = conform.Settle(*pc)
	pc.State, pc.Limits.InitTimeout = host.StateAuto, 0 // the bound of a call is not that of a start
	settings, err := c.spec.CheckSettings(own.Operation, merged(own.Settings, c.settings[own.Operation]))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if c.one, err = conformance.NewCase(conform.New(nil, c.spec, *pc).Describe(), own, settings); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	c.own = own
	return nil
}

// readCase reads the case of --request, which must be one of the function that is called.
func (c *plannedCall) readCase(file string) (*conformance.OwnCase, error) {
	r, name, err := c.app.Open(file)
	if err != nil {
		return nil, fmt.Errorf("flag --request: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxRequestFile+1))
	if err != nil {
		return nil, fmt.Errorf("flag --request: %w", err)
	}
	if len(b) > maxRequestFile {
		return nil, fmt.Errorf("%s: %w (at most %s)", name, host.ErrTooLarge, sizeText(maxRequestFile))
	}
	if err := checkCases(name, b); err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	own, err := conformance.ParseCase(name, b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	if own.Operation == "" {
		for _, o := range c.spec.Operations {
			if o.Operation != abi.OpInit && o.Operation.JSONExport() == c.function {
				own.Operation = o.Operation
			}
		}
	}
	if own.Operation.JSONExport() != c.function {
		return nil, fmt.Errorf("%w: %s: operation: the case is for %s, not for %s (call that function)", config.ErrInvalid, name, own.Operation.JSONExport(), c.function)
	}
	return own, nil
}

// merged is a with the values of b in place of its own, nil if both are empty.
func merged[V any](a, b map[string]V) map[string]V {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := make(map[string]V, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
