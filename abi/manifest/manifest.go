// Package manifest reads the manifests of plugins and checks them. Hosts and tools use it;
// guests do not need it.
package manifest

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
)

// Manifest describes a plugin. It is the JSON of the custom section ManifestSection, or the file
// plugin.yaml in the folder of the module, which has the same keys in YAML.
type Manifest struct {
	// ABI is the version the plugin speaks. Required.
	ABI int `json:"abi"`
	// Name is lower-case letters, digits and hyphens. Required.
	Name string `json:"name"`
	// Version is the plugin's own semantic version. Required.
	Version     string `json:"version"`
	Description string `json:"description,omitempty"`
	License     string `json:"license,omitempty"`
	Homepage    string `json:"homepage,omitempty"`
	// Deprecated says why nobody should use the plugin any more and what to use instead, in one
	// line of at most 500 bytes. Empty: the plugin is not deprecated.
	Deprecated string `json:"deprecated,omitempty"`
	// Operations are the operations the module exports. At least one.
	Operations  map[abi.Operation]OperationSpec `json:"operations"`
	Permissions []Permission                    `json:"permissions,omitempty"`
	Limits      LimitRequest                    `json:"limits,omitzero"`
	// Settings is the JSON Schema (2020-12) of the init settings. Without it the plugin has none.
	Settings json.RawMessage `json:"settings,omitempty"`
	// SelfTest are calls with known answers. A host makes them when it loads the plugin, and
	// refuses a plugin that answers differently.
	SelfTest []SelfTest `json:"self_test,omitzero"`
}

// SelfTest is one call with a known answer.
type SelfTest struct {
	// Operation is one of the operations of the manifest, except init.
	Operation abi.Operation `json:"operation"`
	// Input is the request document of the operation.
	Input json.RawMessage `json:"input"`
	// Output is the expected answer. It is compared as a JSON value; null means no change.
	Output json.RawMessage `json:"output"`
}

// OperationSpec is the description of one operation in a manifest.
type OperationSpec struct {
	// Reads are names of columns of items and of parts of the request. A column that is not
	// named is not sent. A request with a query is sent with the whole query unless a part of
	// it is named; other requests are sent whole only if the list is nil.
	Reads []string `json:"reads,omitzero"`
	// Writes are names of changes. nil means the operation's default, an empty list none.
	Writes []abi.Change `json:"writes,omitzero"`
	// MaxPriority is the highest priority that new items and edits may ask for; 0 means
	// the default priority of the source.
	MaxPriority int `json:"max_priority,omitempty"`
	// Settings is the JSON Schema (2020-12) of the step settings.
	Settings json.RawMessage `json:"settings,omitempty"`
	Defaults StepDefaults    `json:"defaults,omitzero"`
	// Timeless is for init. It promises that the state after init does not depend on the
	// time of day. A host may then keep that state on disk even if the guest read the wall
	// clock, as language runtimes do when they collect garbage.
	Timeless bool `json:"timeless,omitempty"`
	// Tool is for operations that a step calls. It lets a host offer the step to agents as a tool, and says
	// to them in one line what it does.
	Tool string `json:"tool,omitempty"`
}

// StepDefaults are the values for a step that does not state its own.
type StepDefaults struct {
	Priority int    `json:"priority,omitempty"`
	TopK     int    `json:"top_k,omitempty"`
	Timeout  string `json:"timeout,omitempty"`
	OnError  string `json:"on_error,omitempty"`
}

// Permission is one permission that a plugin asks for, with a reason for the operator.
type Permission struct {
	// Kind is http, files, kv or service.
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	// Hosts and Methods are for http: servers in the form of [HostPattern], such as
	// "api.example.com" for https on port 443, or "from_grant" for those that the operator
	// grants, and methods in capitals. No methods: GET and HEAD.
	Hosts   HostList `json:"hosts,omitzero"`
	Methods []string `json:"methods,omitempty"`
	// Guest and Mode are for files: the path the guest sees, "ro" or "rw".
	Guest string `json:"guest,omitempty"`
	Mode  string `json:"mode,omitempty"`
	// Quota is for kv: the bytes asked for, such as "1MiB".
	Quota string `json:"quota,omitempty"`
	// Service is for service: count_tokens, embed, search or llm.
	Service string `json:"service,omitempty"`
}

// LimitRequest holds the limits that a plugin asks for. A limit of the operator replaces
// them. Sizes have the form "64MiB", durations "2s".
type LimitRequest struct {
	Timeout     string `json:"timeout,omitempty"`
	InitTimeout string `json:"init_timeout,omitempty"`
	Memory      string `json:"memory,omitempty"`
	Output      string `json:"output,omitempty"`
}
