package host

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/host/spec"
)

// Config sets up a [Host]. The zero value works.
type Config struct {
	// Logger receives the log messages of guests and of the host. nil discards them.
	Logger *slog.Logger
	// CacheDir is the folder that keeps compiled machine code, in a folder for each version
	// of wazero, and what a [spec.Reader] found out, for later processes. Empty:
	// anchor-host/compiled below the user's cache directory, or nothing is kept if there is
	// no such directory. CacheOff: nothing is kept.
	//
	// The host executes what lies in CacheDir. So it does not use a folder to which other
	// users can write, and gives the reason in a warning; see [Host.CacheDir]. Every file
	// bears a mark (HMAC-SHA-256) under a key that only the user can read:
	// anchor-host/cache.key in the user's configuration directory, or the file key in
	// CacheDir if there is no such directory. A file without the mark is removed, with a
	// warning, and made anew. Other processes of the same user are trusted.
	//
	// A program that does not know its version of wazero, such as a test binary, keeps no
	// machine code.
	CacheDir string
	// ImageCache is how many bytes the images of plugins may take on disk, in the folder
	// images of CacheDir. An image is the state after an init that took long, so that the
	// next process need not run it. 0 and None: no image is kept on disk. Unlimited: none is
	// removed for its size. The command uses DefaultImageCache. An image serves again only
	// while module, settings, grants, limits and mounted files are the same, and until the
	// system restarts.
	//
	// An image holds what the plugin holds in memory. The host keeps none
	//   - of a plugin with Config values, which may be secrets, or with a setting that its
	//     schema marks with "writeOnly": true,
	//   - of a plugin that is Deterministic, has Links, or is granted Functions or a
	//     FileGrant.FS,
	//   - of a foreign module,
	//   - after an init that used the network or the key-value store, or read the time of
	//     day unless its manifest promises to be timeless.
	ImageCache int64
	// Tokenizer counts the tokens of the items that guests add or rewrite. nil: the
	// encoding cl100k_base, loaded when it is first needed.
	Tokenizer Tokenizer
	// DefaultLimits replace the built-in limits for plugins whose configuration states
	// none. Fields that are 0 keep the built-in limit.
	DefaultLimits Limits
	// LoadMemory bounds, in bytes, the sum of the estimates of all modules that are being
	// compiled; see [spec.Spec.LoadEstimate]. A module that does not fit waits, and at
	// most 16 smaller ones pass it. A module whose estimate is above LoadMemory is compiled
	// alone. Each compilation uses one processor, see ParallelCompile, and at most as many run
	// as there are processors. 0: DefaultLoadMemory.
	LoadMemory int64
	// MaxInstances bounds the instances of all plugins together. Each loaded plugin counts
	// for at least one, even while it has none. 0: DefaultMaxInstances.
	MaxInstances int
	// Memory bounds, in bytes, what all plugins hold together: the linear memories of their
	// instances, their tables (8 bytes for each element that a table may grow to), the
	// stacks that deep calls left, decoded answers, and the images that instances start
	// from.
	//
	// Instances that share an image (state: reset, on Linux) do not count for the pages of
	// it that they only read. A page that a call writes counts from the end of the call. If
	// a plugin has several instances, each new one counts at once for as many pages as any
	// of them was found to have written.
	//
	// To load a plugin takes room for its memory after init and for the image at the same
	// time. If there is no room, the host evicts idle instances, those used longest ago
	// first. If the system bounds the address space of the process, Memory is at most half
	// of what the bound leaves beyond 1.5 GiB. 0: DefaultHostMemory, or
	// half of what the control groups of the process allow it if that is less.
	Memory int64
	// PluginShare is the part of Memory that the instances of one plugin, its sessions
	// included, may take together, more than 0 and at most 1. It does not bound a plugin
	// that has only one instance, and the image does not count. 0: DefaultPluginShare.
	PluginShare float64
	// KVMemory bounds, in bytes, what the key-value stores of all plugins and tenants hold
	// together. Each store counts for 512 bytes and its names more. A value beyond the
	// bound is refused like one beyond the quota, with a line in the guest's log. It does
	// not bound a KVStore. 0: DefaultKVMemory. None: nothing is stored. See also
	// [Host.ForgetTenant].
	KVMemory int64
	// KVStore keeps what plugins store, so that it outlives the host. nil: the host keeps
	// it in memory, as long as it lives.
	KVStore KVStore
	// HTTPTransport sends the requests of plugins instead of the host's own transport:
	// through a proxy, with other certificates, or to audit them. The host checks every
	// request and redirect against the grants first: scheme, host, port, method, and an
	// address if the URL states one. It also checks headers and the size of bodies. It does
	// not check the addresses that names resolve to. So for names HTTPGrant.Private has no
	// effect, and the transport itself must block cloud metadata addresses such as
	// 169.254.169.254. Connections of the transport do not count as open files of a plugin.
	//
	// Its RoundTrip, and the reading of bodies, run on goroutines of the host within the
	// time of the guest's call. Their context ends with that time. One that goes on
	// nevertheless is left behind. An error or a panic counts as a failure of the network.
	// The transport must not call plugins. nil: the host's own transport, which uses no
	// proxy.
	HTTPTransport http.RoundTripper
	// Services answer what plugins ask embed, search and llm for. A grant of one that is nil is
	// an error. Their methods run as those of a KVStore do; a panic is an answer with the word
	// unavailable.
	Services service.Services
	// Engine is for plugins whose configuration states none.
	Engine Engine
	// Portable switches off what the host takes from wazero without a promise that it lasts,
	// as far as the host can do without it, as if the probes for it failed. The host is then
	// slower and refuses PluginConfig.Links, and is otherwise the same. It still uses the
	// flags for tail calls and extended constants, the mounts of granted folders, and files
	// of machine code, which CacheDir switches off. Features can also switch off all of these.
	Portable bool
	// Features switches features off one by one; see [Host.Features].
	Features Features
	// Functions are functions of the embedder that plugins can import if they are granted
	// them; see [NewFunction].
	Functions []Function
	// Lines has the stacks of traps name the file and line of each function, for modules that
	// say them: those of "anchor-host plugin build --debug" (package host/lines). It is for
	// tools of authors; such a module takes more memory while it is loaded.
	Lines bool
	// ParallelCompile compiles a module on all processors instead of one. No panic of wazero
	// can be recovered there, so one that a module causes ends the program. It is for tools of
	// authors, who compile their own modules again and again.
	ParallelCompile bool
	// OnCompile is called before a module is compiled or taken from the disk cache, with
	// done false, and afterwards, with done true and the time it took. It may be called
	// from several goroutines at once. nil: not called.
	OnCompile func(plugin string, done bool, took time.Duration)
	// OnCall is called after each call of a plugin, whether the call was made or refused.
	// Calls are those of operations, exports and sessions, and those that functions of the
	// embedder make within other calls. OnCall runs on the goroutine of the caller, under
	// the caller's context, and must not block. The instance is back by then, so a panic of
	// OnCall affects only the caller. nil: not called, and nothing is measured for it.
	OnCall func(ctx context.Context, call CallInfo)
	// OnRecord is called after each call of an operation or of another export with the request,
	// the answer, and what the plugin asked the host for. Secrets have asterisks in their place:
	// those of PluginConfig.Secrets and Grants, settings that the schema marks with writeOnly,
	// and values of headers and parameters with names such as Authorization and api_key. It runs
	// on the goroutine of the caller. Operations then use the lane JSON wherever the plugin has
	// it, and every plugin is Deterministic. Calls of sessions are not collected. nil: not called, and nothing is collected.
	OnRecord func(record.Call)
	// OnFailure is called after each call that failed, on the goroutine of the caller, with what OnRecord
	// gets but the answer, and bounds of its own. It changes neither lanes nor clocks. nil: not called.
	OnFailure func(record.Failure)
}

// CacheOff as Config.CacheDir switches the disk cache off.
const CacheOff = codestore.Off

// PluginConfig is what the operator states for one configured plugin. The zero value grants
// nothing and takes every default.
type PluginConfig struct {
	// Name is the name of the configured plugin. It is part of the ids of its items and of
	// every error. Empty: the name of the spec.
	Name string
	// Settings are the init settings, checked against the plugin's schema.
	Settings map[string]any
	// Config is what the guest can read through config_get, together with the top-level
	// scalars of Settings. A key of Config overrides the setting of that name.
	Config map[string]string
	// Secrets are texts that no log line and no error of the plugin shows: where one would, it
	// has asterisks. They include the values of Grants.HTTP.Headers in any case. Texts of fewer
	// than 4 bytes are not looked for. A plugin that writes a secret in another form, such as
	// base64, is not found out.
	Secrets []string
	// Grants are the permissions given; see [Grants].
	Grants Grants
	// Limits override the plugin's requests and the host's defaults in every field that is
	// not 0.
	Limits Limits
	// Engine runs the module and its links.
	Engine Engine
	// Deterministic gives the guest clocks that advance by a millisecond with each reading,
	// the wall clock from 2022-01-01 on, and a fixed sequence of random numbers. A call
	// then uses the same fuel in every process. This does not hold for a guest whose
	// warm-up, before its image is made, takes about 250 ms: it is left out where it takes
	// longer. Without Deterministic the fuel of a guest that draws random numbers when it
	// starts, as Go does for its maps, varies by about a percent.
	Deterministic bool
	// Lane is the lane of all operations; LaneBatch is that of those that can have it.
	Lane Lane
	// State says what happens to the state of an instance between calls.
	State State
	// WASI offers the WASI functions to a foreign module. Modules that speak the ABI always
	// have them. Without grants they reach nothing but clocks and random numbers.
	WASI bool
	// Links are the modules that the plugin imports from. They share its limits and grants.
	// Each instance of the plugin has instances of its own of them.
	Links []Link
}

// Grants are the permissions that the operator gives. A plugin has what its manifest asks
// for and the operator grants. A foreign module asks for everything. The zero value grants
// nothing.
type Grants struct {
	HTTP  *HTTPGrant
	Files []FileGrant
	KV    *KVGrant
	// Ask is what it may ask embed, search and llm for.
	Ask service.Grants
	// Services are names of host services: count_tokens.
	Services []string
	// Functions are names of Config.Functions: the plain name for one in UserModule,
	// otherwise "module.name".
	Functions []string
}

// HTTPGrant lets a plugin send HTTP requests through the host. The host checks every
// request and redirect against it, and every address that it connects to; see
// Config.HTTPTransport for addresses if there is one. A redirect from https to http is
// refused.
//
// A plugin sets the headers of its requests. The host leaves out those of the connection:
// Connection, Content-Length, Expect, Host, HTTP2-Settings, Keep-Alive, TE, Trailer,
// Transfer-Encoding, Upgrade and all that begin with Proxy-. A malformed name, or a value
// with a line break or another control character, ends the call. A redirect to another
// scheme, host or port keeps only Accept, Accept-Encoding, Accept-Language,
// Content-Encoding, Content-Language, Content-Type and User-Agent.
type HTTPGrant struct {
	// Hosts are servers in the form of [manifest.HostPattern]: "api.example.com" for https
	// on port 443, "api.example.com:8443", "*.example.com" for every name below
	// example.com, "http://localhost:8080", "http://127.0.0.1:*" for every port.
	Hosts []string
	// AnyHost allows every server to a plugin whose manifest leaves them to the grant, besides
	// Hosts. It is for a Config.HTTPTransport that sends nothing, as in tests.
	AnyHost bool
	// Methods are the allowed methods. Empty: GET and HEAD.
	Methods []string
	// Private allows addresses of private and loopback networks. It does not allow
	// link-local addresses, nor those by which clouds tell machines their credentials, such
	// as 169.254.169.254, unless Hosts names the address itself.
	Private bool
	// Headers are headers that the host adds, by the server that they are for and by their
	// name: {"api.example.com": {"Authorization": "Bearer …"}}. The plugin does not see them,
	// and cannot replace them. A server has the form of Hosts, without *, and Hosts must have
	// it. A redirect to another scheme, host or port does not take them along. Where an answer
	// repeats a value of 8 bytes or more, or the part of it after the first space, the plugin
	// gets asterisks. A server that repeats a value in another form tells it to the plugin.
	Headers map[string]map[string]string
}

// FileGrant mounts a directory of the host, or a file system of the embedder.
type FileGrant struct {
	// Host is the directory outside.
	Host string
	// FS is mounted instead of a directory, read-only. nil: Host is mounted. The guests of
	// several calls use it at the same time, so it must be safe for concurrent use. Each
	// file or directory that it opens is used by one call at a time. A directory must be an
	// fs.ReadDirFile. A file must be an io.Seeker and an io.ReaderAt if guests are to move
	// in it. What is neither a directory nor a regular file is refused.
	//
	// Its methods run on goroutines of the host, within the time of the guest's call. One
	// that goes on nevertheless is left behind, and the file that it opened is closed when
	// it returns. A panic is an error of the file, EIO. FS must not call plugins. A plugin
	// with an FS has no image on disk; see Config.ImageCache.
	FS fs.FS
	// Guest is the absolute path inside, such as "/docs".
	Guest string
	// Mode says whether the plugin may write.
	Mode FileMode
	// Quota bounds the bytes of the files in the folder, MaxFiles the number of files and
	// folders in it, in ModeRW. The plugin cannot make the folder exceed them. What was in
	// the folder before counts, and what is removed gives room back. 0: DefaultFolderQuota
	// and DefaultFolderFiles. Both take Unlimited; what is free on the disk then bounds the
	// plugin.
	Quota    int64
	MaxFiles int
}

// KVGrant gives a plugin a store for keys and values, one for each tenant; see
// [WithTenant].
type KVGrant struct {
	// Quota bounds the bytes of keys and values for one tenant. Each pair counts as 64
	// bytes more. 0: DefaultKVQuota. Unlimited: the quota that the manifest asks for, and
	// Config.KVMemory.
	Quota int64
}

// DefaultTopK is the TopK of retrieve and rerank if neither the manifest nor the caller
// states one.
const DefaultTopK = spec.DefaultTopK

// OperationOptions say how an operation of a plugin is called, and what its answers may do.
type OperationOptions struct {
	// Step is the name of the step that the calls are for, in errors.
	Step string
	// TopK is how many items retrieve and rerank are asked for at most. 0: the manifest's
	// default, otherwise DefaultTopK. It takes neither Unlimited nor None, nor does another
	// field of these options.
	TopK int
	// Settings travel with each call, checked against the operation's schema.
	Settings map[string]any
	// Source is the source of the items that the guest adds. It must not be system. Empty:
	// retrieval, or for the operation memory the guest's choice of memory and conversation.
	Source string
	// MaxPriority is the highest priority that the guest may give to items it adds or
	// edits. 0: the default priority of their source, [abi.DefaultPriority]. The manifest
	// may lower it.
	MaxPriority int
	// Reads narrows what the guest receives: to the columns and the parts of the request in
	// this list that the manifest reads, see [abi.NarrowedReads]. nil: all that the manifest reads.
	Reads []string
	// Timeout bounds one call. 0, or more than the plugin's limit: the plugin's limit.
	Timeout time.Duration
}

// withDefaults checks c and fills in the defaults. Its errors wrap ErrConfig.
func (c Config) withDefaults() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkChoice("engine", c.Engine, engines); err != nil {
		return c, fmt.Errorf("host config: %w", err)
	}
	if s := c.PluginShare; math.IsNaN(s) || s < 0 || s > 1 {
		return c, fmt.Errorf("host config: plugin share %v: %w (want more than 0, at most 1, or 0 for the default)", c.PluginShare, ErrConfig)
	}
	if err := firstBad(
		bound{"load memory", c.LoadMemory, boundedMemory, needsSome},
		bound{"max instances", int64(c.MaxInstances), boundedMemory, needsOne},
		bound{"memory", c.Memory, boundedMemory, needsSome},
		bound{"key-value memory", c.KVMemory, boundedMemory, ""},
		bound{"image cache", c.ImageCache, "", ""},
	); err != nil {
		return c, fmt.Errorf("host config: %w", err)
	}
	c.ImageCache = numberOf(c.ImageCache, math.MaxInt64)
	if c.MaxInstances == 0 {
		c.MaxInstances = DefaultMaxInstances
	}
	if c.Memory == 0 {
		c.Memory = memoryDefault()
	}
	if c.PluginShare == 0 {
		c.PluginShare = DefaultPluginShare
	}
	if c.LoadMemory == 0 {
		c.LoadMemory = DefaultLoadMemory
	}
	c.KVMemory = numberOf(cmp.Or(c.KVMemory, DefaultKVMemory), 0)
	if err := c.DefaultLimits.Check(); err != nil {
		return c, fmt.Errorf("host config: default %w", err)
	}
	c.DefaultLimits = c.DefaultLimits.or(builtinLimits())
	c.Functions = slices.Clone(c.Functions)
	if err := imports.Check(c.importable()); err != nil {
		return c, fmt.Errorf("host config: %w", err)
	}
	return c, nil
}

// clone copies g.
func (g *HTTPGrant) clone() *HTTPGrant {
	out := &HTTPGrant{Hosts: slices.Clone(g.Hosts), AnyHost: g.AnyHost, Methods: slices.Clone(g.Methods), Private: g.Private, Headers: maps.Clone(g.Headers)}
	for server, headers := range out.Headers {
		out.Headers[server] = maps.Clone(headers)
	}
	return out
}

// clone copies c so that later changes by the caller have no effect.
func (c PluginConfig) clone() PluginConfig {
	c.Settings = maps.Clone(c.Settings)
	c.Config = maps.Clone(c.Config)
	c.Secrets = slices.Clone(c.Secrets)
	c.Grants.Files = slices.Clone(c.Grants.Files)
	c.Grants.Services = slices.Clone(c.Grants.Services)
	c.Grants.Functions = slices.Clone(c.Grants.Functions)
	c.Links = slices.Clone(c.Links)
	if h := c.Grants.HTTP; h != nil {
		c.Grants.HTTP = h.clone()
	}
	if kv := c.Grants.KV; kv != nil {
		quota := *kv
		c.Grants.KV = &quota
	}
	c.Grants.Ask = c.Grants.Ask.Clone()
	return c
}
