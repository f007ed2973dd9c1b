package config

import (
	"github.com/anchor-host/anchor-host/host"
)

// Instance is a configured plugin.
type Instance struct {
	Plugin   string            `key:"plugin,required" doc:"Name of the plugin in the plugin folder."`
	Digest   string            `key:"digest" doc:"Pins the module, and the plugin.yaml in its folder if there is one. The pin has the form sha256:… or sha256:…+sha256:…; plugin inspect prints it. A plugin with a different pin is refused."`
	Settings map[string]any    `key:"settings" doc:"Init settings, checked against the plugin's schema."`
	Config   map[string]Text   `key:"config" doc:"Values that the plugin reads with config_get of Extism, in addition to its settings. ${env:NAME} stands for an environment variable and ${file:PATH} for the content of a file, relative to the configuration file, without the line break at its end. Such values are never printed. $${ stands for ${."`
	Grants   Grants            `key:"grants" doc:"The permissions of the plugin. It has those that its manifest asks for and that are granted here. A module without a manifest asks for everything."`
	Limits   Limits            `key:"limits" doc:"Limits on the resources of the plugin. Each has a finite default. The descriptions say which keys accept unlimited or none."`
	Engine   host.Engine       `key:"engine" enum:"compiler,interpreter" default:"compiler" doc:"compiler translates the module to machine code where wazero supports it, and interprets it on other platforms. interpreter loads faster and runs many times slower."`
	State    host.State        `key:"state" enum:"reset,keep,fresh" default:"reset" doc:"What happens to an instance between calls: reset restores its state after init, keep leaves it unchanged, fresh replaces the instance. Default for a module without the plugin contract: keep."`
	WASI     bool              `key:"wasi" default:"false" doc:"Offers the WASI functions to a module without the plugin contract. Other modules always have them."`
	Links    map[string]string `key:"links" doc:"Modules that the plugin imports from, as NAME: PLUGIN. They are in the plugin folder and share its limits and grants."`
	Must     bool              `key:"must" default:"false" doc:"Every use of this plugin must answer, except where a step says must: false: see must of steps. It is loaded even if nothing uses it, and a start and a reload are refused if it cannot be."`
}

// Grants are permissions. Nothing is granted that is not listed.
type Grants struct {
	HTTP     *HTTPGrant   `key:"http" doc:"Outgoing requests. The plugin cannot set headers of the connection, such as Host. A redirect to another scheme, host or port drops all credentials."`
	Files    []FileGrant  `key:"files" doc:"Folders the plugin sees."`
	KV       *KVGrant     `key:"kv" doc:"A private key-value store, separate for each tenant."`
	Services []string     `key:"services" enum:"count_tokens" doc:"Host services."`
	Embed    *EmbedGrant  `key:"embed" doc:"Vectors of texts."`
	Search   *SearchGrant `key:"search" doc:"Searches in collections of the tenant."`
	LLM      *LLMGrant    `key:"llm" doc:"Answers of models. The plugin never sees a key."`
}

// EmbedGrant allows an embedder.
type EmbedGrant struct {
	Embedder string `key:"embedder,required" doc:"An entry of embedders."`
	MaxCalls int    `key:"max_calls" min:"1" default:"1000" doc:"The maximum number of requests of the plugin in one build."`
	MaxTexts int    `key:"max_texts" min:"1" default:"100000" doc:"The maximum number of texts in these requests together."`
}

// SearchGrant allows searches in collections.
type SearchGrant struct {
	Collections []string `key:"collections,required" doc:"Names of collections. The first is searched if the plugin names none."`
	MaxCalls    int      `key:"max_calls" min:"1" default:"1000" doc:"The maximum number of searches of the plugin in one build."`
}

// LLMGrant allows models.
type LLMGrant struct {
	Models    []string `key:"models,required" doc:"Entries of models. The first is asked if the plugin names none."`
	MaxCalls  int      `key:"max_calls" min:"1" doc:"The maximum number of requests of the plugin in one build. Default: that of the model alone."`
	MaxTokens int      `key:"tokens" min:"1" doc:"The maximum number of tokens of these requests and their answers. Default: that of the model alone."`
}

// HTTPGrant allows requests to hosts.
type HTTPGrant struct {
	Hosts   []string                   `key:"hosts,required" doc:"Servers: api.example.com is https on port 443; others are api.example.com:8443, *.example.com, http://localhost:8080, and http://127.0.0.1:* for every port."`
	Methods []string                   `key:"methods" doc:"Allowed methods. Default: GET and HEAD."`
	Headers map[string]map[string]Text `key:"headers" doc:"Headers that the host adds to the requests to a server, by server and name, such as {api.example.com: {Authorization: 'Bearer ${env:KEY}'}}. The plugin does not see them and cannot replace them. They do not go to other servers, nor along with a redirect to another scheme, host or port. Values are as in config, and never printed."`
	Private bool                       `key:"private" default:"false" doc:"Allow addresses of private and loopback networks. Addresses at which cloud providers serve credentials, such as 169.254.169.254, must also be listed in hosts."`
}

// FileGrant lets a plugin see a folder.
type FileGrant struct {
	Host     string        `key:"host,required" doc:"The folder, relative to the configuration file."`
	Guest    string        `key:"guest,required" doc:"The path the plugin sees."`
	Mode     host.FileMode `key:"mode" enum:"ro,rw" default:"ro"`
	Quota    Bytes         `key:"quota" default:"64MiB" doc:"The maximum number of bytes in the folder, including existing files. The plugin cannot write beyond it. unlimited: until the disk is full. For rw."`
	MaxFiles Count         `key:"max_files" default:"10000" doc:"The maximum number of files and folders in the folder. The plugin cannot create more. It may be unlimited. For rw."`
}

// KVGrant allows a key-value store.
type KVGrant struct {
	Quota Bytes `key:"quota" default:"1MiB" doc:"The maximum number of bytes for one tenant, such as 1MiB. unlimited: as much as the plugin asks for."`
}

// Limits bound one plugin, and each of its calls. Zero means the default.
type Limits struct {
	Timeout      Duration `key:"timeout" doc:"The time of one call, such as 2s."`
	InitTimeout  Duration `key:"init_timeout" doc:"The time of start and init together, such as 60s."`
	QueueTimeout Span     `key:"queue_timeout" doc:"How long a call waits for a free instance, and then again for a free processor, such as 2s. unlimited: as long as the build lasts. none: it does not wait, not even for an instance that is being made or reset."`
	IdleTimeout  Span     `key:"idle_timeout" doc:"How long an idle instance is kept, such as 1m. One instance is always kept. unlimited: until another plugin needs its memory. none: it is closed at once."`
	Fuel         Count    `key:"fuel" doc:"Units of fuel of one call. Each instruction costs fuel. init gets more, in proportion to init_timeout. unlimited: only the timeout ends a call."`
	Memory       Size     `key:"memory" doc:"Maximum linear memory of one instance, such as 64MiB; at most 4GiB."`
	Input        Size     `key:"input" doc:"Maximum size of the request document of one call."`
	Output       Size     `key:"output" doc:"Maximum size of the answer document of one call."`
	LogBytes     Bytes    `key:"log_bytes" doc:"How many bytes of log, stdout and stderr together are kept for one call. none: nothing is kept."`
	HTTPBody     Bytes    `key:"http_body" doc:"Maximum size of the body of each HTTP request, and of each response. none: requests have no body, and a response with a body is refused."`
	Items        Count    `key:"items" doc:"How many items one call may add. unlimited: only output limits them. none: it may add nothing."`
	Tokens       Count    `key:"tokens" doc:"How many tokens one call may add. unlimited: only output limits them. none: it may add nothing."`
	Instances    Count    `key:"instances" doc:"How many calls run at the same time, each in a separate instance. Default: one for each processor. unlimited: plugins.max_instances."`
	MinInstances Count    `key:"min_instances" doc:"How many instances are made in advance and kept ready. none: instances are made when they are needed."`
	BreakAfter   Count    `key:"break_after" doc:"After this many failed calls in a row for a tenant the plugin is not called for that tenant for a while. unlimited, or -1: it is always called."`
	BreakMost    Duration `key:"break_most" doc:"The longest such pause, such as 60s. The first pause is one second; each further pause is twice as long."`
	LoadMemory   Size     `key:"load_memory" doc:"Maximum estimated memory for loading the module, such as 600MiB; plugin inspect shows the estimate."`
	LoadTime     Duration `key:"load_time" doc:"Maximum estimated time for loading the module, such as 20s."`
}
