// Package imports has the functions that guests import, beyond those that need nothing but the
// instance: HTTP, the key-value store, token counts, and the functions of the embedder. It
// offers all functions to a runtime. Each call of one is checked against the grants of its
// plugin.
//
// All requests of a batch are checked before one is sent. Otherwise a plugin could find out by
// trial what its grant allows, and an operator would see a plugin that half works.
package imports

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/kv"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/seldom"
)

// Plugin is what the functions need of the plugin whose guest calls them. A pointer to it is
// the Imports of the guest's environment. Its fields do not change once the first instance is made.
type Plugin struct {
	// Name is the name of the configured plugin.
	Name string
	// Asks are the permissions that the manifest asks for: "http", "kv", or "service NAME".
	Asks []string
	// Client sends HTTP requests, nil if none is granted.
	Client *egress.Client
	// Stores are the key-value stores of the host. Quota is how many bytes the plugin may
	// store for each tenant, 0 if it is granted no store.
	Stores *kv.Stores
	Quota  int64
	// Tenant names the tenant of a call by its context.
	Tenant func(context.Context) string
	// Tokenizer counts tokens. Counts says that the plugin may use it.
	Tokenizer *Tokenizer
	Counts    bool
	// Services answer what Granted says.
	Services service.Services
	Granted  service.Grants
	// Functions are the names of the embedder's functions that are granted: "module.name", or
	// the name alone in abi.UserModule.
	Functions []string

	// unanswered are requests without an answer, by the server and the reason.
	unanswered seldom.Kinds[[2]string]
}

// of returns the plugin of a call.
func of(c *guest.Call) *Plugin { return c.Instance.Env.Imports.(*Plugin) }

// denied is the fault of a call that needs a grant that the plugin does not have.
func denied(what, key string) *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonDenied, Err: fmt.Errorf("%s is not permitted", what), Remedy: "grant it with " + key}
}

// missing is the fault of a call that needs a permission of which the plugin lacks the grant, or
// the wish in its manifest. A foreign module has no manifest.
func missing(c *guest.Call, what, key string) *guest.Fault {
	f := denied(what, key)
	switch {
	case c.Instance.Env.Foreign:
	case slices.Contains(of(c).Asks, what):
		f.Remedy = "its manifest asks for it: " + f.Remedy
	default:
		f.Remedy = "its manifest does not ask for it: add it to permissions in plugin.yaml, and " + f.Remedy
	}
	return f
}
