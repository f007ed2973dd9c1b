package config

import "github.com/anchor-host/anchor-host/host"

// Instance is a configured plugin.
type Instance struct {
	Plugin        string            `key:"plugin,required" doc:"Name of the plugin in the plugin folder."`
	Digest        string            `key:"digest" doc:"Pins the module, and the plugin.yaml beside it if there is one, as sha256:… or sha256:…+sha256:… (plugin inspect shows it); others are refused."`
	Settings      map[string]any    `key:"settings" doc:"Init settings, checked against the plugin's schema."`
	Config        map[string]string `key:"config" doc:"Extra values the plugin reads with Extism's config_get."`
	Grants        Grants            `key:"grants" doc:"What the plugin is allowed of what it asks for."`
	Limits        Limits            `key:"limits" doc:"Limits; each has a finite default."`
	Engine        host.Engine       `key:"engine" enum:"compiler,interpreter" default:"compiler" doc:"How the module runs."`
	Lane          host.Lane         `key:"lane" enum:"json,batch" doc:"Forces one of the two lanes. Default: the fastest the plugin has."`
	State         host.State        `key:"state" enum:"reset,keep,fresh" default:"reset" doc:"What happens to an instance between calls: put back to its state after init, kept as it is, or replaced. A foreign module has keep unless stated."`
	Deterministic bool              `key:"deterministic" default:"false" doc:"Fixes clock and random numbers."`
	WASI          bool              `key:"wasi" default:"false" doc:"Offers the WASI functions to a module that does not speak the plugin contract. Others have them."`
	Links         map[string]string `key:"links" doc:"Modules it imports from, as NAME: PLUGIN of the plugin folder. They share its limits and grants."`
	Required      bool              `key:"required" default:"false" doc:"Without this plugin no build starts."`
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
	Quota    Size          `key:"quota" default:"64MiB" doc:"The most bytes the folder may hold for the plugin to add some, with what lies there already. For rw."`
	MaxFiles int           `key:"max_files" min:"1" default:"10000" doc:"The most files and folders it may hold for the plugin to add one. For rw."`
}

// KVGrant allows a key-value store.
type KVGrant struct {
	Quota Size `key:"quota" doc:"The most bytes it may hold for one tenant, such as 1MiB."`
}

// Limits bound one instance. Zero means the host's default.
type Limits struct {
	Timeout      Duration `key:"timeout" doc:"One call, such as 2s."`
	InitTimeout  Duration `key:"init_timeout" doc:"Start and init together, such as 60s."`
	QueueTimeout Duration `key:"queue_timeout" doc:"Waiting for a free instance, and for a free processor before the call begins."`
	IdleTimeout  Duration `key:"idle_timeout" doc:"How long an instance is kept that nobody uses, such as 1m. One is always kept."`
	Fuel         int64    `key:"fuel" min:"1" doc:"Instructions of one call."`
	Memory       Size     `key:"memory" doc:"Linear memory, such as 64MiB."`
	Input        Size     `key:"input" doc:"Bytes sent to one call."`
	Output       Size     `key:"output" doc:"Bytes returned by one call."`
	LogBytes     Size     `key:"log_bytes" doc:"Log and stderr of one call."`
	HTTPBody     Size     `key:"http_body" doc:"Body of one HTTP response."`
	Items        int      `key:"items" min:"1" doc:"Items added by one call."`
	Tokens       int      `key:"tokens" min:"1" doc:"Tokens added by one call."`
	Instances    int      `key:"instances" min:"1" doc:"Instances kept for concurrent calls."`
	MinInstances int      `key:"min_instances" min:"1" doc:"Instances made ahead, so that as many calls at once find one."`
	RestAfter    int      `key:"rest_after" min:"-1" doc:"Failed calls in a row after which the plugin is not called for a time. -1: it always is."`
	RestMost     Duration `key:"rest_most" doc:"The longest such time, such as 60s. It begins with one second and doubles."`
	LoadMemory   Size     `key:"load_memory" doc:"What loading the module may take by its estimate, such as 600MiB; see plugin inspect."`
	LoadTime     Duration `key:"load_time" doc:"What loading the module may take by its estimate, such as 20s."`
}
