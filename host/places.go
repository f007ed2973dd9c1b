package host

import (
	"context"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// Config.MaxInstances bounds the instances of a host, and Config.Memory what they hold; see
// package capacity. A plugin that has no instance at all, as while it is loaded, waits for room.

// shareOfOne is the most memory of a plugin with several instances.
func (c *Config) shareOfOne() int64 {
	if c.PluginShare == 1 {
		return math.MaxInt64 // what it has no room for, the host has none for either
	}
	return saturate(c.Memory, c.PluginShare)
}

// reserve takes the plugin's place.
func (p *Plugin) reserve(ctx context.Context) error {
	return p.host.room.Wait(ctx, p.limits.QueueTimeout, func() error {
		if !p.share.Reserve() {
			return guest.NoPlace(p.host.cfg.MaxInstances)
		}
		return nil
	})
}

// pooled makes an instance for the pool. While a caller waits for room, it makes only the
// first.
func (p *Plugin) pooled(ctx context.Context) (*guest.Instance, error) {
	if p.host.room.Waiting() > 0 && p.share.Pooled() {
		return nil, p.failure(abi.OpInit, nil, &guest.Fault{Reason: abi.ReasonBusy, Remedy: guest.MoreInstances,
			Err: guest.As(guest.ErrNoRoom, fmt.Errorf("another plugin waits for room in the host"))})
	}
	return p.newInstance(ctx)
}
