package mcpserver

import (
	"net/http"

	"github.com/anchor-host/anchor-host/server"
)

// Path is where the server is mounted.
const Path = "/mcp"

// Mount adds the server to a service, at [Path]. A message counts as one request, whatever its tool asks of the API;
// the other limits hold for that as for a request of the client.
func Mount(to *server.Server, o Options) error {
	o.API = to.Handler()
	s, err := New(o)
	if err != nil {
		return err
	}
	return to.Mount(server.Route{Method: http.MethodPost, Path: Path, Action: "getMcp", Scope: server.ScopeBuild, MaxBody: maxMessage, Handler: s.HTTP()})
}
