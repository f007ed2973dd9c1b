package mcpserver

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// written lets tools be listed with schemas that are written already: writing them anew takes most of the time of a
// list, and each request over HTTP may ask for one.
func written() mcp.Middleware {
	var known sync.Map // from *mcp.Tool to its copy: none changes, and a new configuration brings few
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			list, ok := result.(*mcp.ListToolsResult)
			if err != nil || !ok || list == nil {
				return result, err
			}
			for i, t := range list.Tools {
				ready, ok := known.Load(t)
				if !ok {
					made := *t
					made.InputSchema, made.OutputSchema = raw(t.InputSchema), raw(t.OutputSchema)
					ready, _ = known.LoadOrStore(t, &made)
				}
				list.Tools[i] = ready.(*mcp.Tool)
			}
			return result, nil
		}
	}
}

// raw writes a schema.
func raw(schema any) any {
	data, err := json.Marshal(schema)
	if err != nil {
		return schema
	}
	return json.RawMessage(data)
}
