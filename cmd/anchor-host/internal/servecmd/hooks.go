package servecmd

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/agents/hooks"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
)

// maxOwners bounds how many users' knowledge is ready.
const maxOwners = 1000

// answerHooks lets the service answer hooks of coding agents: over HTTP for other machines, with keys, and at a socket
// for this user. A socket that cannot be made is a warning, as hooks then open the store themselves.
func answerHooks(ctx context.Context, s *server.Server, app *anchor.App, loaded *config.Loaded, log *slog.Logger) (closed func(), err error) {
	var mu sync.Mutex
	type owner struct{ tenant, user string }
	known := map[owner]hooks.Knowledge{}
	handler := func(r *http.Request) (*hooks.Handler, error) {
		st, err := app.Store(r.Context())
		if err != nil {
			return nil, err
		}
		who := server.PrincipalOf(r.Context())
		tenant := cmp.Or(who.Tenant, loaded.TenantName())
		// People of a tenant work in folders of the same name, such as /app: their keys tell them apart.
		of := owner{tenant, who.KeyID}
		h := &hooks.Handler{Store: st, Tenant: tenant, Settings: hooks.FromConfig(&loaded.Config)}
		if names := loaded.Agent.Hooks.Pipelines; len(names) > 0 {
			h.Build = hooks.Build(app, tenant, names)
		}
		mu.Lock()
		defer mu.Unlock()
		if h.Knowledge = known[of]; h.Knowledge == nil {
			if h.Knowledge, err = hooks.Known(st, tenant, of.user, false); err != nil {
				return nil, err
			}
			if len(known) >= maxOwners {
				clear(known)
			}
			known[of] = h.Knowledge
		}
		return h, nil
	}
	err = s.Mount(server.Route{
		Method: "POST", Path: "/v1/hooks/{client}", Action: "answerHook", Scope: server.ScopeMemoryWrite,
		MaxBody: hooks.MaxBody, Handler: hooks.HTTP(handler, true),
	})
	if err != nil {
		return nil, err
	}
	path, err := agentstore.Path(loaded.StorePath())
	if err == nil {
		closed, err = hooks.Listen(ctx, hooks.SocketPath(path), hooks.HTTP(handler, false), log)
	}
	if err != nil {
		log.Warn("hooks of coding agents open the store themselves", "error", err)
		return func() {}, nil
	}
	return closed, nil
}
