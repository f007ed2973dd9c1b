package mcpsource

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/component"
)

// Name is what a step uses.
const Name = "mcp"

// Schema is the JSON Schema of the settings.
const Schema = `{
  "type": "object", "additionalProperties": false, "required": ["server"],
  "properties": {
    "server": {"type": "string", "pattern": "^[a-z][a-z0-9]*(-[a-z0-9]+)*$", "maxLength": 64, "description": "The name under which anchor.lock has the server."},
    "url": {"type": "string", "maxLength": 2048, "description": "Where a server on HTTP is."},
    "command": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"type": "string", "maxLength": 4096}, "description": "The program of a server on stdio, with its whole path, and its arguments. It runs outside of the sandbox, with an empty environment."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Fields of the header, each with the environment variable that has its value."},
    "private": {"type": "boolean", "default": false, "description": "The server may have a private address, or one of this machine."},
    "tool": {"type": "string", "maxLength": 256, "description": "The tool that is called for each query."},
    "arguments": {"type": "object", "additionalProperties": true, "description": "Its arguments. The texts {query} and {top_k} stand for those of the build. Default: {query: \"{query}\"}."},
    "resources": {"type": "array", "minItems": 1, "maxItems": 32, "items": {"type": "string", "maxLength": 2048}, "description": "URIs of resources that are read in the place of a tool. {query} stands for that of the build."},
    "items": {"type": "string", "maxLength": 256, "description": "The member of the tool's structured result that has the list, such as data.results. Default: each text of the result is an item."},
    "text": {"type": "string", "maxLength": 256, "default": "text", "description": "The member of an element of the list that has its text."},
    "id": {"type": "string", "maxLength": 256, "default": "id", "description": "The member that has its name."},
    "score": {"type": "string", "maxLength": 256, "default": "score", "description": "The member that has its score. Without one, the order counts."},
    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600000, "default": 10000, "description": "The time of one call, with the start of the server."},
    "max_bytes": {"type": "integer", "minimum": 1024, "maximum": 16777216, "default": 262144, "description": "The most text of one call. Items beyond it are left out."}
  }
}`

// Settings are the settings of one source; see [Schema].
type Settings struct {
	Server    string            `json:"server"`
	URL       string            `json:"url"`
	Command   []string          `json:"command"`
	Headers   map[string]string `json:"headers"`
	Private   bool              `json:"private"`
	Tool      string            `json:"tool"`
	Arguments map[string]any    `json:"arguments"`
	Resources []string          `json:"resources"`
	Items     string            `json:"items"`
	Text      string            `json:"text"`
	ID        string            `json:"id"`
	Score     string            `json:"score"`
	TimeoutMS int               `json:"timeout_ms"`
	MaxBytes  int               `json:"max_bytes"`
}

// Decode reads and checks settings that agree with [Schema]. Errors wrap [component.ErrSettings].
func Decode(given component.Settings) (*Settings, error) {
	s := &Settings{Text: "text", ID: "id", Score: "score", TimeoutMS: 10_000, MaxBytes: 256 << 10}
	if err := given.Decode(s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%w: mcp server %q: %w", component.ErrSettings, s.Server, err)
	}
	return s, nil
}

func (s *Settings) check() error {
	if (s.URL == "") == (len(s.Command) == 0) {
		return errors.New("want either url or command")
	}
	if (s.Tool == "") == (len(s.Resources) == 0) {
		return errors.New("want either tool or resources")
	}
	if len(s.Command) > 0 {
		if !filepath.IsAbs(s.Command[0]) {
			return fmt.Errorf("command: %.100q is no whole path, and a server has no PATH (name it with its folder)", s.Command[0])
		}
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("url: %.100q: want http:// or https:// and a name, without a password", s.URL)
	}
	if u.Scheme == "http" && !s.Private {
		return fmt.Errorf("url: %.100q is not encrypted (use https; only a private server may have http, with private: true)", s.URL)
	}
	return nil
}

// At is the URL or the command, as anchor.lock has it.
func (s *Settings) At() string {
	if s.URL != "" {
		return s.URL
	}
	words := make([]string, len(s.Command))
	for i, w := range s.Command {
		word, _ := json.Marshal(w) // a string
		words[i] = string(word)
	}
	return strings.Join(words, " ")
}
