package host

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"
)

// Config sets up a [Host]. The zero value works.
type Config struct {
	// Logger receives what guests log and what the host notes about them. nil
	// discards it.
	Logger *slog.Logger
	// CacheDir holds compiled machine code between runs, in a folder per wazero
	// version, and what a [Reader] found out. Empty: anchor-host below the user's cache directory, or none
	// when there is no such directory. CacheOff: none.
	//
	// What lies in it is executed. So the host does without it, and says why in a
	// warning, where others than the user can write to it; see [CheckCacheDir]. Every
	// file bears a mark (HMAC-SHA-256) under a key that only the user can read:
	// anchor-host/cache.key in the user's configuration directory, or the file key in
	// CacheDir where there is no such directory. A file without the mark is removed,
	// with a warning, and made anew. Other processes of the same user are trusted.
	//
	// A program that does not know its version of wazero, such as a test binary,
	// keeps no machine code.
	CacheDir string
	// ImageCache is what images of plugins may take on disk, in the folder images
	// of CacheDir, in bytes: the state after an init that takes long, so that the next
	// process need not run it. 0 or less: none; DefaultImageCache is what the command
	// takes. An image is used again only where module, settings, grants and mounted
	// files are the same, and until the system is started again.
	//
	// It holds what plugins hold in memory. There is none of a plugin with Config
	// values, which may be secrets, or with a setting that its schema marks with
	// "writeOnly": true, and none after an init that asked the network or the key-value
	// store, or looked at the time of day.
	ImageCache int64
	// Tokenizer counts the tokens of the items guests add or rewrite. nil: the
	// encoding cl100k_base, loaded when first needed.
	Tokenizer Tokenizer
	// DefaultLimits replace the built-in limits, field by field, for plugins
	// whose configuration states none.
	DefaultLimits Limits
	// LoadMemory bounds what modules that are compiled at the same time take together,
	// in bytes, by their estimates; see [Spec.LoadEstimate]. Those for which there is no
	// room wait, smaller ones pass, one that takes more is compiled alone. Each is
	// compiled by one processor. 0: DefaultLoadMemory.
	LoadMemory int64
	// MaxInstances bounds the instances of all plugins together, one for each loaded
	// plugin included, whether it is made or not. 0: DefaultMaxInstances.
	MaxInstances int
	// Memory bounds the linear memory of all instances together, their tables (8 bytes
	// for each element they can come to have), what deep calls took
	// for their stacks, and what resets keep a copy of, at most 64 KiB for each memory,
	// in bytes. Of an image that instances share (state: reset, on Linux) each counts
	// for what calls made its own, from the end of the first that did, and further ones
	// from their beginning. To load a plugin takes room for its memory after init and
	// for the image at the same time. Where there is none left, idle instances are
	// closed, those used longest ago first. Where the system bounds the address space of
	// the process, at most half of what that has beyond 1.5 GiB counts. 0: MemoryDefault().
	Memory int64
	// PluginShare is the part of Memory that the instances of one plugin, its sessions
	// included, may take together, more than 0 and at most 1. The only instance of a
	// plugin is not held to it, and an image that instances share is not counted. 0:
	// DefaultPluginShare.
	PluginShare float64
	// KVMemory bounds what the key-value stores of all plugins and tenants hold
	// together, in bytes, each store counted as 512 bytes and its names more. A
	// value beyond it is refused like one beyond the quota, with a line in the
	// guest's log. 0: DefaultKVMemory. See [Host.ForgetTenant]. It is not held against what
	// a KVStore keeps.
	KVMemory int64
	// KVStore keeps what plugins store in place of the memory of the host, so that it
	// lasts. nil: it is kept in memory, as long as the host lives.
	KVStore KVStore
	// HTTPTransport sends the requests of plugins in place of the host's own transport, for
	// a proxy, certificates of one's own, or an audit. Grants are held against every request
	// and redirect before it, with hosts, ports, methods and headers, and so are bodies and
	// an address that is stated as such. To which addresses a name leads is its matter:
	// HTTPGrant.Private and what the host says of the addresses of clouds are not held
	// against them, and its connections do not count among the files of a plugin.
	//
	// Its RoundTrip, and the reading of bodies, run on goroutines of the host, within the
	// time of the guest's call, at whose end their context ends. One that goes on
	// nevertheless is left behind. An error, or a panic, is a failure of the network. It
	// must not call plugins. nil: the host's own, which uses no proxy.
	HTTPTransport http.RoundTripper
	// Engine is EngineAuto, EngineCompiler or EngineInterpreter, for plugins
	// whose configuration states none.
	Engine string
	// Portable does without everything that wazero does not promise and this host can do
	// without, as on a system where the probes for it fail. It is slower, refuses
	// PluginConfig.Links, and is otherwise the same. What it still takes are the flags for
	// tail calls and extended constants, the mounts of granted folders, and files of
	// machine code, which CacheDir is for; Features switches these off, too.
	Portable bool
	// Features switches features off one by one; see [Host.Features].
	Features Features
	// Functions are functions of the embedder that plugins can import when they
	// are granted them; see [NewFunction].
	Functions []Function
	// OnCompile is called with done false before a module is compiled and with
	// done true and the time it took afterwards. It may be called from several
	// goroutines. nil: not called.
	OnCompile func(plugin string, done bool, took time.Duration)
	// OnCall is called after each call of a plugin that was made or refused, on the
	// goroutine of its caller and under its context: with operations of steps, exports,
	// sessions, and calls that functions of the embedder make within others. It holds up
	// its caller, so it must not block. The instance is back by then; a panic of OnCall is
	// the caller's. nil: not called, and nothing is measured for it.
	OnCall func(ctx context.Context, call CallInfo)
}

// CacheOff as Config.CacheDir switches the disk cache off.
const CacheOff = "off"

// The engines. EngineAuto compiles where wazero can, and interprets elsewhere.
const (
	EngineAuto        = ""
	EngineCompiler    = "compiler"
	EngineInterpreter = "interpreter"
)

// The lanes. LaneAuto takes the batch lane where the plugin has it.
const (
	LaneAuto  = ""
	LaneJSON  = "json"
	LaneBatch = "batch"
)

// What happens to the state of an instance between calls. StateAuto is StateReset
// for plugins that speak the ABI and StateKeep for foreign modules, whose
// statics and variables last by contract.
const (
	StateAuto = ""
	// StateReset puts memory and globals back to what they were after init. A
	// module whose state cannot be captured gets StateFresh instead.
	StateReset = "reset"
	// StateKeep leaves everything as it is for the next call of the instance, which
	// serves one tenant only; see [WithTenant]. A [Session] keeps its state in any case.
	StateKeep = "keep"
	// StateFresh makes a new instance for every call, with an init of its own.
	StateFresh = "fresh"
)

// PluginConfig is what the operator states for one configured plugin. The zero
// value grants nothing and takes every default.
type PluginConfig struct {
	// Name is the name of the configured plugin, part of the ids of its items
	// and of every error. Empty: the name of the spec.
	Name string
	// Settings are the init settings, checked against the plugin's schema.
	Settings map[string]any
	// Config is visible to the guest through config_get, beside the top-level
	// scalars of Settings, which it overrides.
	Config map[string]string
	// Grants are the permissions given; see [Grants].
	Grants Grants
	// Limits override the plugin's wishes and the host's defaults where not 0.
	Limits Limits
	// Engine is EngineAuto (the host's), EngineCompiler or EngineInterpreter.
	Engine string
	// Deterministic fixes the clock at 2022-01-01 and the random numbers. With it
	// a call uses the same fuel in every process, as long as the guest takes less than
	// 250 ms to warm up before its image is made: else it is left as it was. Without, a
	// guest that draws random numbers when it starts, as Go does for its maps, differs
	// by a percent or so.
	Deterministic bool
	// Lane is LaneAuto, LaneJSON or LaneBatch. LaneBatch holds for the
	// operations that have a batch lane.
	Lane string
	// State is StateAuto, StateReset, StateKeep or StateFresh.
	State string
	// WASI offers the WASI functions to a foreign module. Modules that speak
	// the ABI always have them; without grants they reach nothing but the clock
	// and random numbers.
	WASI bool
	// Links are the modules that the plugin imports from. They share its limits
	// and its grants, and last as long as its instances.
	Links []Link
}

// Grants are the permissions the operator gives. What counts is what the
// plugin's manifest asks for and the operator grants; a foreign module asks for
// everything. The zero value grants nothing.
type Grants struct {
	HTTP  *HTTPGrant
	Files []FileGrant
	KV    *KVGrant
	// Services are names of host services: count_tokens.
	Services []string
	// Functions are names of Config.Functions: the name alone in UserModule,
	// elsewhere "module.name".
	Functions []string
}

// HTTPGrant lets a plugin send HTTP requests through the host. Every redirect is held
// to it, and every address that is connected to. A redirect from https to http is
// refused.
//
// A plugin sets the headers of its requests, except for those of the connection,
// which are left out: Connection, Content-Length, Expect, Host, HTTP2-Settings,
// Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade and all that begin with Proxy-.
// A malformed name, or a value with a line break or another control character, ends
// the call. A redirect to another scheme, host or port takes along nothing but Accept,
// Accept-Encoding, Accept-Language, Content-Encoding, Content-Language, Content-Type
// and User-Agent.
type HTTPGrant struct {
	// Hosts are servers in the form of [abi.HostPattern]: "api.example.com" for https
	// on port 443, "api.example.com:8443", "*.example.com" for every name below
	// example.com, "http://localhost:8080", "http://127.0.0.1:*" for every port.
	Hosts []string
	// Methods are the allowed methods. Empty: GET and HEAD.
	Methods []string
	// Private allows addresses of private and loopback networks. Those of link-local
	// networks and those by which clouds tell machines their credentials, such as
	// 169.254.169.254, are allowed only where Hosts names the address itself as well.
	Private bool
}

// FileGrant mounts a directory of the host, or a file system of the embedder.
type FileGrant struct {
	// Host is the directory outside.
	Host string
	// FS is mounted in place of a directory, read-only. It must be safe for concurrent use,
	// as the guests of several calls read it at the same time, and so are files and
	// directories, but each of them by one at a time. A directory that it opens is an
	// fs.ReadDirFile; a file is an io.Seeker and an io.ReaderAt where guests are to move in
	// it. What is neither a directory nor a regular file is refused.
	//
	// It is called on goroutines of the host, within the time of the guest's call. A method
	// that goes on nevertheless is left behind, and its file is closed when it returns. A
	// panic is an error of the file, EIO. It must not call plugins. A plugin with one has
	// no image on disk; see Config.ImageCache. nil: Host is mounted.
	FS fs.FS
	// Guest is the absolute path inside, such as "/docs".
	Guest string
	// Mode is ModeRO (also when empty) or ModeRW.
	Mode string
	// Quota is the most bytes that the files of the folder may hold for the plugin to
	// make them longer, and MaxFiles the most files and folders for it to add one: what
	// lies there already counts, and what is removed gives room. They are for ModeRW.
	// 0: DefaultFolderQuota and DefaultFolderFiles.
	Quota    int64
	MaxFiles int
}

// The modes of a FileGrant.
const (
	ModeRO = "ro"
	ModeRW = "rw"
)

// KVGrant gives a plugin a store for keys and values inside the host, one for each
// tenant; see [WithTenant].
type KVGrant struct {
	// Quota is the most bytes of keys and values for one tenant, each pair counted
	// as 64 bytes more. 0: DefaultKVQuota.
	Quota int64
}

// ServiceCountTokens is the name of the service that counts tokens.
const ServiceCountTokens = "count_tokens"

// DefaultTopK is the most items of retrieve and rerank where neither the manifest nor the
// caller states it.
const DefaultTopK = 10

// OperationOptions say how an operation of a plugin is called, and what its answers may do.
type OperationOptions struct {
	// Step names what the calls are for, in errors.
	Step string
	// TopK is the most items of retrieve and rerank. 0: the manifest's default, else
	// DefaultTopK.
	TopK int
	// Settings travel with each call, checked against the operation's schema.
	Settings map[string]any
	// Source is the source of items the guest adds, never system. Empty: retrieval, or
	// for memory the guest's choice of memory and conversation.
	Source string
	// MaxPriority is the highest priority of items the guest adds or edits. 0:
	// the default priority of their source, [abi.DefaultPriority]. The manifest may ask
	// for less.
	MaxPriority int
	// Reads narrows the columns the guest receives to those of this list that
	// the manifest reads too. nil: all the manifest reads.
	Reads []string
	// Timeout bounds one call. 0: the plugin's limit, which it cannot exceed.
	Timeout time.Duration
}

// withDefaults checks c and fills in what is not stated.
func (c Config) withDefaults() (Config, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := checkEngine(c.Engine); err != nil {
		return c, fmt.Errorf("host config: %w", err)
	}
	if s := c.PluginShare; math.IsNaN(s) || s < 0 || s > 1 {
		return c, fmt.Errorf("host config: plugin share %v: %w (want more than 0, at most 1, or 0 for the default)", c.PluginShare, ErrConfig)
	}
	if c.LoadMemory < 0 || c.MaxInstances < 0 || c.Memory < 0 || c.KVMemory < 0 {
		return c, fmt.Errorf("host config: negative bound: %w", ErrConfig)
	}
	if c.MaxInstances == 0 {
		c.MaxInstances = DefaultMaxInstances
	}
	if c.Memory == 0 {
		c.Memory = MemoryDefault()
	}
	if c.PluginShare == 0 {
		c.PluginShare = DefaultPluginShare
	}
	if c.LoadMemory == 0 {
		c.LoadMemory = DefaultLoadMemory
	}
	if c.KVMemory == 0 {
		c.KVMemory = DefaultKVMemory
	}
	if err := c.DefaultLimits.check(); err != nil {
		return c, fmt.Errorf("host config: default %w", err)
	}
	c.DefaultLimits = c.DefaultLimits.or(builtinLimits())
	c.Functions = slices.Clone(c.Functions)
	if err := checkFunctions(c.Functions); err != nil {
		return c, fmt.Errorf("host config: %w", err)
	}
	return c, nil
}

// clone copies c so that later changes by the caller have no effect.
func (c PluginConfig) clone() PluginConfig {
	c.Settings = maps.Clone(c.Settings)
	c.Config = maps.Clone(c.Config)
	c.Grants.Files = slices.Clone(c.Grants.Files)
	c.Grants.Services = slices.Clone(c.Grants.Services)
	c.Grants.Functions = slices.Clone(c.Grants.Functions)
	c.Links = slices.Clone(c.Links)
	if h := c.Grants.HTTP; h != nil {
		c.Grants.HTTP = &HTTPGrant{Hosts: slices.Clone(h.Hosts), Methods: slices.Clone(h.Methods), Private: h.Private}
	}
	if kv := c.Grants.KV; kv != nil {
		quota := *kv
		c.Grants.KV = &quota
	}
	return c
}

func checkEngine(name string) error {
	switch name {
	case EngineAuto, EngineCompiler, EngineInterpreter:
		return nil
	}
	return fmt.Errorf("engine %q: %w (want %q or %q)", name, ErrConfig, EngineCompiler, EngineInterpreter)
}

func checkLane(name string) error {
	switch name {
	case LaneAuto, LaneJSON, LaneBatch:
		return nil
	}
	return fmt.Errorf("lane %q: %w (want %q or %q)", name, ErrConfig, LaneJSON, LaneBatch)
}

func checkState(name string) error {
	switch name {
	case StateAuto, StateReset, StateKeep, StateFresh:
		return nil
	}
	return fmt.Errorf("state %q: %w (want %q, %q or %q)", name, ErrConfig, StateReset, StateKeep, StateFresh)
}
