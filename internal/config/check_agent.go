package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/store"
)

// CheckName refuses names of tenants, conversations and runs that the store does not accept.
func CheckName(s string) error {
	if s == "" {
		return fmt.Errorf("the name is empty")
	}
	if (store.Key{Tenant: s, Kind: "turn"}).Validate() != nil {
		return fmt.Errorf("want a name of at most %d bytes without control characters, got %.100q", store.MaxName, s)
	}
	return nil
}

// CheckOwner refuses names of users and sessions that the store does not accept. Empty names are none. The error
// wraps [ErrInvalid].
func CheckOwner(user, session string) error {
	for _, n := range [...]struct{ what, name string }{{"user", user}, {"session", session}} {
		if n.name == "" {
			continue
		}
		if err := CheckName(n.name); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrInvalid, n.what, err)
		}
	}
	return nil
}

// CheckTenant is CheckName for tenants, one name of which is reserved.
func CheckTenant(s string) error {
	if s == store.ClusterTenant {
		return fmt.Errorf("the name %s is reserved (choose another one)", s)
	}
	return CheckName(s)
}

func (k *checker) tenant() {
	if t := k.config.Tenant; t != "" {
		if err := CheckTenant(t); err != nil {
			k.find("tenant", "%v", err)
		}
	}
}

func (k *checker) conversation() {
	c := k.config.Conversation
	if c == nil {
		return
	}
	if c.ID != "" {
		if err := CheckName(c.ID); err != nil {
			k.find("memory.conversation.id", "%v", err)
		}
		if len(c.Turns) > 0 {
			k.find("memory.conversation", "id and turns exclude each other (the turns of a stored conversation are in the store)")
		}
	}
	if c.Compact != nil {
		k.use("memory.conversation.compact", c.Compact.Use(), nil)
	}
	k.marks(c)
}

// conversationTokens is the default of memory.conversation.tokens.
const conversationTokens = 4096

// marks checks the settings of compactions. The default of a mark depends on the one above it, so
// a mark may also be too high for a default.
func (k *checker) marks(c *Conversation) {
	for _, s := range []struct {
		name  string
		value int
	}{{"high_water", c.HighWater}, {"summary_tokens", c.SummaryTokens}} {
		if s.value > 0 && c.Compact == nil {
			k.find("memory.conversation."+s.name, "%s needs compact", s.name)
		}
	}
	most, name := cmp.Or(c.MaxTokens, conversationTokens), "tokens"
	if c.HighWater > most {
		k.find("memory.conversation.high_water", "want at most %s %d, got %d", name, most, c.HighWater)
	}
	if c.Compact != nil {
		most, name = cmp.Or(c.HighWater, max(1, most-most/4)), "high_water"
	}
	if c.LowWater > most {
		k.find("memory.conversation.low_water", "want at most %s %d, got %d", name, most, c.LowWater)
	}
}

func (k *checker) frames() {
	if f := k.config.Frames; f != nil {
		if err := CheckName(f.Run); err != nil {
			k.find("memory.frames.run", "%v", err)
		}
	}
}

// observation checks how observations are made.
func (k *checker) observation() {
	const path = "agent.observation"
	o := &k.config.Agent.Observation
	k.choice(path+".make", o.Make.Choice, Makes)
	k.choice(path+".reflect", o.Reflect.Choice, Reflects)
	for _, bound := range []struct {
		high, low string
		h, l      int
	}{{"high_water", "low_water", o.HighWater, o.LowWater}, {"reflect.high_water", "reflect.low_water", o.Reflect.HighWater, o.Reflect.LowWater}} {
		if bound.h > 0 && bound.l >= bound.h {
			k.find(path+"."+bound.low, "want less than %s %d, got %d", bound.high, bound.h, bound.l)
		}
	}
}

func (k *checker) agent() {
	k.observation()
	c := &k.config.Agent.Compaction
	if c.Compact != nil {
		k.use("agent.compaction.compact", c.Compact.Use(), nil)
	}
	for _, bound := range []struct {
		of        string
		high, low int
	}{{"", c.HighWater, c.LowWater}, {"_messages", c.HighWaterMessages, c.LowWaterMessages}} {
		if bound.high > 0 && bound.low >= bound.high {
			k.find("agent.compaction.low_water"+bound.of, "want less than high_water%s %d, got %d", bound.of, bound.high, bound.low)
		}
	}
}

// builtinProviders are names that providers of the configuration cannot have.
var builtinProviders = []string{
	frames.DefaultProviderName, providers.ObservingName, providers.ReflectingName, providers.ObservationName, providers.CompactionName,
	providers.TruncationName, providers.EnforcementName,
}

func (k *checker) providers() {
	first := map[string]int{}
	for i := range k.config.Agent.Providers {
		p, path := &k.config.Agent.Providers[i], fmt.Sprintf("agent.providers[%d]", i)
		k.use(path, &p.Use, nil)
		name := p.Title()
		j, taken := first[name]
		switch {
		case name == "":
		case slices.Contains(builtinProviders, name):
			k.find(path, "the name %q belongs to a built-in provider (set a different name)", name)
		case taken:
			k.find(path, "the name %q is already used by agent.providers[%d] (set a different name)", name, j)
		default:
			first[name] = i
		}
	}
}
