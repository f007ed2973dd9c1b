package lock

import (
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/registry/trust"
)

const (
	// MaxServers is the largest number of MCP servers of a file.
	MaxServers = 100
	// MaxTools is the largest number of tools of an MCP server.
	MaxTools = 1000
)

// Server is an MCP server that somebody has looked at and approved.
type Server struct {
	// Name is what the configuration calls it.
	Name string `key:"name,required" yaml:"name" doc:"The name in the configuration."`
	// At is its URL, or its command with each word as a JSON string.
	At string `key:"at,required" yaml:"at" doc:"The URL, or the command."`
	// Tools are the tools that it offers, sorted by name. A tool that it has changed since is not called.
	Tools []ServerTool `key:"tools" yaml:"tools,omitempty" doc:"The tools, sorted by name."`
}

// ServerTool is a tool of an MCP server.
type ServerTool struct {
	// Name is that of the tool.
	Name string `key:"name,required" yaml:"name" doc:"The name of the tool."`
	// Digest is that of its description, its schemas and its hints: "sha256:" and 64 hexadecimal digits.
	Digest string `key:"digest,required" yaml:"digest" doc:"Digest of its description, its schemas and its hints."`
}

// Server returns the MCP server of a name, nil if there is none.
func (f *File) Server(name string) *Server {
	i := slices.IndexFunc(f.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Servers[i]
}

// SetServer adds an MCP server, or replaces the one of the same name.
func (f *File) SetServer(s Server) {
	if old := f.Server(s.Name); old != nil {
		*old = s
		return
	}
	f.Servers = append(f.Servers, s)
	f.sort()
}

// servers finds mistakes in the MCP servers.
func (c *checker) servers(list []Server) {
	if len(list) > MaxServers {
		c.find("mcp", "has %d servers (want %d at most)", len(list), MaxServers)
		return
	}
	seen := map[string]bool{}
	for i := range list {
		at, s := fmt.Sprintf("mcp[%d]", i), &list[i]
		switch {
		case !manifest.ValidName(s.Name):
			c.find(at+".name", "want a name such as issues, got %.100q", s.Name)
		case seen[s.Name]:
			c.find(at+".name", "%q is also the name of another server (remove one)", s.Name)
		case s.At == "":
			c.find(at+".at", "is empty (approve the server again)")
		case len(s.Tools) > MaxTools:
			c.find(at+".tools", "has %d tools (want %d at most)", len(s.Tools), MaxTools)
			continue
		}
		seen[s.Name] = true
		tools := map[string]bool{}
		for j := range s.Tools {
			tool := &s.Tools[j]
			if err := trust.CheckDigest(tool.Digest); err != nil || tool.Name == "" || tools[tool.Name] {
				c.find(fmt.Sprintf("%s.tools[%d]", at, j), "want a name of its own and sha256: with 64 hexadecimal digits (approve the server again)")
			}
			tools[tool.Name] = true
		}
	}
}
