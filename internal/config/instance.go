package config

import (
	"slices"

	"github.com/anchor-host/anchor-host/host"
)

// Instance is a configured plugin.
type Instance struct {
	Plugin        string            `key:"plugin,required" doc:"Name of the plugin in the plugin folder."`
	Digest        string            `key:"digest" doc:"Pins the module, and the plugin.yaml beside it if there is one: the pin that plugin inspect shows, sha256:… or sha256:…+sha256:…. A plugin with another pin is refused."`
	Settings      map[string]any    `key:"settings" doc:"Init settings, checked against the plugin's schema."`
	Config        map[string]string `key:"config" doc:"Values that the plugin reads with Extism's config_get, besides its settings."`
	Grants        Grants            `key:"grants" doc:"What the plugin may do. It has what its manifest asks for and is granted here; a module without a manifest asks for everything."`
	Limits        Limits            `key:"limits" doc:"Bounds on what the plugin takes; each has a finite default. A key that takes unlimited or none says so."`
	Engine        host.Engine       `key:"engine" enum:"compiler,interpreter" default:"compiler" doc:"compiler makes machine code of the module where wazero can, and interprets it elsewhere. interpreter loads sooner and runs many times slower."`
	Lane          host.Lane         `key:"lane" enum:"json,batch" doc:"Forces one of the two lanes. Default: the fastest the plugin has."`
	State         host.State        `key:"state" enum:"reset,keep,fresh" default:"reset" doc:"What happens to an instance between calls: put back to its state after init, kept as it is, or replaced. A foreign module has keep unless stated."`
	Deterministic bool              `key:"deterministic" default:"false" doc:"Fixes clock and random numbers."`
	WASI          bool              `key:"wasi" default:"false" doc:"Offers the WASI functions to a module that does not speak the plugin contract. Others have them."`
	Links         map[string]string `key:"links" doc:"Modules it imports from, as NAME: PLUGIN of the plugin folder. They share its limits and grants."`
	Required      bool              `key:"required" default:"false" doc:"Without this plugin no build starts."`
}

// PluginNames are the names of instances and of plugins that retrieve: the ids of their
// items begin with them.
func (c *Config) PluginNames() (names []string) {
	for name := range c.Instances {
		names = append(names, name)
	}
	for i := range c.Steps {
		names = append(names, c.Steps[i].Plugin)
		if r := c.Steps[i].Retriever; r != nil {
			names = append(names, r.Plugin)
		}
		for _, r := range c.Steps[i].Routes {
			names = append(names, r.Plugin)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Grants are permissions. Nothing is granted that is not listed.
type Grants struct {
	HTTP     *HTTPGrant  `key:"http" doc:"Outgoing requests. Headers of the connection, such as Host, are not the plugin's to set, and a redirect to another scheme, host or port takes no credential along, whatever its name."`
	Files    []FileGrant `key:"files" doc:"Folders the plugin sees."`
	KV       *KVGrant    `key:"kv" doc:"A key-value store of its own, for each tenant."`
	Services []string    `key:"services" enum:"count_tokens" doc:"Host services."`
}

// HTTPGrant allows requests to hosts.
type HTTPGrant struct {
	Hosts   []string `key:"hosts,required" doc:"Servers: api.example.com is https on port 443; others are api.example.com:8443, *.example.com, http://localhost:8080, and http://127.0.0.1:* for every port."`
	Methods []string `key:"methods" doc:"Allowed methods. Default: GET and HEAD."`
	Private bool     `key:"private" default:"false" doc:"Allow addresses of private and loopback networks. Those by which clouds tell machines their credentials, such as 169.254.169.254, must be in hosts, too."`
}

// FileGrant lets a plugin see a folder.
type FileGrant struct {
	Host     string        `key:"host,required" doc:"The folder, relative to the configuration file."`
	Guest    string        `key:"guest,required" doc:"The path the plugin sees."`
	Mode     host.FileMode `key:"mode" enum:"ro,rw" default:"ro"`
	Quota    Bytes         `key:"quota" default:"64MiB" doc:"The most bytes that the folder may hold, with what lies there already; beyond it the plugin cannot add any. unlimited: until the disk is full. For rw."`
	MaxFiles Count         `key:"max_files" default:"10000" doc:"The most files and folders that it may hold; beyond it the plugin cannot add one. It may be unlimited. For rw."`
}

// KVGrant allows a key-value store.
type KVGrant struct {
	Quota Bytes `key:"quota" default:"1MiB" doc:"The most bytes that it may hold for one tenant, such as 1MiB. unlimited: as much as the plugin asks for."`
}

// Limits bound one plugin, and each of its calls. Zero means the default.
type Limits struct {
	Timeout      Duration `key:"timeout" doc:"The time of one call, such as 2s."`
	InitTimeout  Duration `key:"init_timeout" doc:"The time of start and init together, such as 60s."`
	QueueTimeout Span     `key:"queue_timeout" doc:"How long a call waits for a free instance, and again for a free processor before it begins, such as 2s. unlimited: as long as the build lasts. none: it does not wait, not even for an instance that is being made or reset."`
	IdleTimeout  Span     `key:"idle_timeout" doc:"How long an instance is kept that nobody uses, such as 1m. One is always kept. unlimited: until another plugin needs its room. none: it is closed at once."`
	Fuel         Count    `key:"fuel" doc:"Units of fuel of one call. Each instruction costs some, and init has more in proportion to its time. unlimited: only time ends a call."`
	Memory       Size     `key:"memory" doc:"Linear memory of one instance, such as 64MiB; at most 4GiB."`
	Input        Size     `key:"input" doc:"Bytes of the document that one call is sent."`
	Output       Size     `key:"output" doc:"Bytes of the document that one call returns."`
	LogBytes     Bytes    `key:"log_bytes" doc:"Bytes of one call's log, stdout and stderr together that are kept. none: nothing is."`
	HTTPBody     Bytes    `key:"http_body" doc:"Bytes of the body of each HTTP request, and of each response. none: requests have no body, and a response with one is refused."`
	Items        Count    `key:"items" doc:"Items that one call may add. unlimited: output bounds them. none: it may add nothing."`
	Tokens       Count    `key:"tokens" doc:"Tokens that one call may add. unlimited: output bounds them. none: it may add nothing."`
	Instances    Count    `key:"instances" doc:"Calls that run at the same time, each in an instance of its own. Default: one for each processor. unlimited: plugins.max_instances."`
	MinInstances Count    `key:"min_instances" doc:"Instances made ahead and kept, so that as many calls at once find one. none: they are made when they are needed."`
	RestAfter    Count    `key:"rest_after" doc:"Failed calls in a row after which the plugin is not called for a time. unlimited, or -1: it always is."`
	RestMost     Duration `key:"rest_most" doc:"The longest such time, such as 60s. It begins with one second and doubles."`
	LoadMemory   Size     `key:"load_memory" doc:"What loading the module may take by its estimate, such as 600MiB; see plugin inspect."`
	LoadTime     Duration `key:"load_time" doc:"What loading the module may take by its estimate, such as 20s."`
}
