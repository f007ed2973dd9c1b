package host

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/cgroup"
	"github.com/anchor-host/anchor-host/internal/units"
)

// The default limits, and the reason for each. Sizes are in bytes.
const (
	// DefaultTimeout bounds one call. It is several times what a slow rerank takes, and short
	// enough that a user still waits for a build that skips the step.
	DefaultTimeout = 2 * time.Second
	// DefaultInitTimeout is enough for a plugin to build an index of tens of thousands of
	// documents.
	DefaultInitTimeout = 60 * time.Second
	// DefaultQueueTimeout is how long a call waits for an instance, and again for a processor.
	// In that time about one long call of another caller ends.
	DefaultQueueTimeout = 2 * time.Second
	// DefaultIdleTimeout is how long an idle instance is kept. Most pauses of a conversation
	// are shorter.
	DefaultIdleTimeout = time.Minute
	// DefaultFuel is the fuel of one call. It is several times what compiled code uses in
	// DefaultTimeout, so it stops only guests that the timeout does not stop.
	DefaultFuel = 20_000_000_000
	// DefaultMemory is more than a stock Go guest needs, which takes 20 MiB at 1,000 items.
	DefaultMemory = spec.DefaultMemory
	// DefaultInput is enough for thousands of items with their text.
	DefaultInput = 32 << 20
	// DefaultOutput is more text than the window of any model takes.
	DefaultOutput = 8 << 20
	// DefaultLogBytes is what one call may write to stdout, stderr and the log together.
	DefaultLogBytes = 64 << 10
	// DefaultHTTPBody bounds the body of a request and of a response.
	DefaultHTTPBody = 8 << 20
	// DefaultItems is the most items that one call may add.
	DefaultItems = 10_000
	// DefaultTokens is the most tokens that one call may add: the size of the largest windows
	// in use.
	DefaultTokens = 1_000_000

	// DefaultBreakAfter is how many calls of a plugin must fail in a row before it is paused. A
	// caller that tries one hopeless input three times does not reach it.
	DefaultBreakAfter = 5
	// DefaultBreakMost is the longest pause. When the cause of the failures lies outside of the
	// plugin and is gone, the plugin serves again within a minute.
	DefaultBreakMost = time.Minute

	// DefaultKVQuota is the space for keys and values that a plugin has for each tenant, if
	// its grant states none.
	DefaultKVQuota = spec.DefaultKVQuota
	// DefaultKVMemory bounds the key-value stores of a host together. A thousand stores of
	// DefaultKVQuota fit into it.
	DefaultKVMemory = 1 << 30
	// DefaultFolderQuota bounds the bytes in a folder that a plugin may write to, and
	// DefaultFolderFiles the files and folders in it, if the grant states no bounds.
	DefaultFolderQuota = 64 << 20
	DefaultFolderFiles = 10_000
	// DefaultMaxInstances bounds the instances of a host. An idle stock Go guest takes 4 MiB
	// or so.
	DefaultMaxInstances = 256
	// DefaultHostMemory bounds the memory of all instances of a host. It is less where the
	// control groups of the process allow less than twice as much; see Config.Memory.
	DefaultHostMemory = 2 << 30
	// DefaultLoadMemory bounds what compilations at the same time take. Three modules that
	// take as much as a small module may fit into it.
	DefaultLoadMemory = 1 << 30
	// DefaultPluginShare is the part of the host's memory that the instances of one plugin may
	// take together. Two such plugins can fill the host, one cannot.
	DefaultPluginShare = 0.5
	// DefaultImageCache is the space that the command gives to images on disk: enough for a
	// few large indexes.
	DefaultImageCache = 1 << 30
	// RequestFactor is how many times a default the manifest of a plugin may ask for. Only the
	// operator's own configuration can go further.
	RequestFactor = 4
)

const (
	wasmPage = 64 << 10
	// recycleCalls is how many calls an instance serves before it is replaced, so that slow
	// leaks in guests end. An instance whose memory grows is replaced much earlier.
	recycleCalls = 100_000
	// firstBreak is the length of a plugin's first pause.
	firstBreak = time.Second
)

// memoryDefault returns the default of [Config].Memory in bytes: DefaultHostMemory, or half
// of what the control groups of the process allow it if that is less.
func memoryDefault() int64 {
	if limit, ok := cgroup.MemoryLimit(); ok {
		return min(DefaultHostMemory, limit/2)
	}
	return DefaultHostMemory
}

// Limits bound one plugin. In a configuration 0 means the default, and some fields take
// [Unlimited] or [None]. In [Plugin.Limits] every field but LoadMemory and LoadTime is the
// number in force.
type Limits struct {
	// Timeout bounds one call, and InitTimeout start and init. QueueTimeout bounds the wait
	// for an instance, or for the memory of a new one, and again the wait for a processor
	// before the call begins; Unlimited: until the caller's context ends; None: there is no
	// wait, not even for an instance that is being made or reset.
	Timeout, InitTimeout, QueueTimeout time.Duration
	// IdleTimeout is how long an idle instance is kept. One instance is always kept, and at
	// least MinInstances are. Unlimited: it is closed only if the host needs the room. None:
	// it is closed soon.
	IdleTimeout time.Duration
	// Fuel is the most fuel of one call: each instruction costs a fixed weight. Init has as
	// much for each unit of its time, and never less than a call. Unlimited: only time ends
	// a call.
	Fuel int64
	// Memory bounds the linear memory of one instance. Input and Output bound the documents of
	// one call, LogBytes its messages, and HTTPBody the body of each request and of each
	// response. All are in bytes. LogBytes None: no messages are kept. HTTPBody None: requests
	// have no body, and a response with one is refused.
	Memory, Input, Output, LogBytes, HTTPBody int64
	// Items and Tokens are the most that one call may add. Unlimited: Output alone bounds
	// them. None: a call may add nothing.
	Items, Tokens int
	// Instances is the most calls that run at the same time. 0: one for each processor.
	// Unlimited: Config.MaxInstances.
	Instances int
	// MinInstances is how many instances are made ahead and kept, so that as many calls at
	// once need not wait for a new one. More than Instances counts as Instances. 0, if
	// Config.DefaultLimits state no other default, and None: instances are made when they
	// are needed.
	MinInstances int
	// BreakAfter is how many calls for a tenant must fail in a row before the plugin is paused for
	// that tenant. The failures that count are timeout, fuel, memory unless the request alone
	// takes an eighth of it, trap, exit, an output that is invalid or too large, and a failed
	// init. The first pause takes a second. A failure right after a pause begins another of twice
	// the length, up to BreakMost. During a pause calls fail with the reason circuit_open.
	// Unlimited: the plugin is never paused.
	BreakAfter int
	// BreakMost is the longest pause.
	BreakMost time.Duration
	// LoadMemory and LoadTime bound what loading the module may take by estimate: LoadMemory
	// in bytes, LoadTime in time of one processor. 0: 300 MiB and 20 bytes for each byte of
	// code; 5 s, or 2 s for each MiB of code if that is more.
	LoadMemory int64
	LoadTime   time.Duration
}

// limit is what the host knows of one of the [Limits].
type limit struct {
	// name is its key in a configuration.
	name string
	// fallback is the default. 0: there is none, or it is computed.
	fallback int64
	// unlimited and none say why it does not take these words; "" if it does. endless is then
	// the number in the place of Unlimited. 0: it is computed.
	unlimited, none string
	endless         int64
}

// limits describe the fields of [Limits], in their order.
var limits = []limit{
	{"timeout", int64(DefaultTimeout), boundedTime, needsSome, 0},
	{"init_timeout", int64(DefaultInitTimeout), boundedTime, needsSome, 0},
	{"queue_timeout", int64(DefaultQueueTimeout), "", "", math.MaxInt64},
	{"idle_timeout", int64(DefaultIdleTimeout), "", "", math.MaxInt64},
	{"fuel", DefaultFuel, "", needsSome, endlessFuel},
	{"memory", DefaultMemory, boundedMemory, needsSome, 0},
	{"input", DefaultInput, boundedMemory, needsSome, 0},
	{"output", DefaultOutput, boundedMemory, needsSome, 0},
	{"log_bytes", DefaultLogBytes, boundedMemory, "", 0},
	{"http_body", DefaultHTTPBody, boundedMemory, "", 0},
	{"items", DefaultItems, "", "", abi.MaxRows},
	{"tokens", DefaultTokens, "", "", math.MaxInt},
	{"instances", 0, "", needsOne, 0},
	{"min_instances", 0, boundedMemory, "", 0},
	{"break_after", DefaultBreakAfter, "", needsOne, math.MaxInt},
	{"break_most", int64(DefaultBreakMost), mayBreak, mayBreak, 0},
	{"load_memory", 0, boundedMemory, needsSome, 0},
	{"load_time", 0, boundedTime, needsSome, 0},
}

// with returns l with the numbers that of returns in the place of its own.
func (l Limits) with(of func(i int, own int64) int64) Limits {
	for i, v := 0, reflect.ValueOf(&l).Elem(); i < v.NumField(); i++ {
		v.Field(i).SetInt(of(i, v.Field(i).Int()))
	}
	return l
}

func builtinLimits() Limits {
	l := Limits{}.with(func(i int, _ int64) int64 { return limits[i].fallback })
	l.Instances = runtime.GOMAXPROCS(0)
	return l
}

// or returns l with each zero field taken from d.
func (l Limits) or(d Limits) Limits {
	from := reflect.ValueOf(d)
	return l.with(func(i int, own int64) int64 { return cmp.Or(own, from.Field(i).Int()) })
}

// Check refuses limits that are not valid. The error names the limit and wraps ErrConfig.
func (l Limits) Check() error {
	var bounds []bound
	l.with(func(i int, own int64) int64 {
		bounds = append(bounds, bound{"limit " + limits[i].name, own, limits[i].unlimited, limits[i].none})
		return own
	})
	if err := firstBad(bounds...); err != nil {
		return err
	}
	if l.Memory > 4<<30 {
		return fmt.Errorf("limit memory %d: %w (want at most 4GiB)", l.Memory, ErrConfig)
	}
	return nil
}

// inForce returns limits with numbers in the place of Unlimited and None. instances is the
// most that there may be of one plugin.
func (l Limits) inForce(instances int) Limits {
	if l.Instances == Unlimited {
		l.Instances = instances
	}
	l = l.with(func(i int, own int64) int64 { return numberOf(own, limits[i].endless) })
	l.IdleTimeout = max(l.IdleTimeout, soon)
	return l
}

// soon is the least IdleTimeout, so that looking for idle instances takes little of a
// processor.
const soon = 10 * time.Millisecond

// endlessFuel is more fuel than a call can use in years. The fuel of init, a multiple of it,
// stops at the largest number.
const endlessFuel = 1 << 60

// loadLimits are the limits for loading a module.
func loadLimits(l Limits) spec.LoadLimits {
	return spec.LoadLimits{Memory: l.LoadMemory, Time: l.LoadTime, Stack: l.Memory}
}

// InForce returns the limits of a plugin in a host with the built-in defaults, where set are those
// that the operator sets. The lines name what the plugin asks for and does not get.
func InForce(s *spec.Spec, set Limits) (Limits, []string, error) {
	return effectiveLimits(set, builtinLimits(), runtime.GOMAXPROCS(0), s.Manifest)
}

// effectiveLimits returns the limits of a plugin. Each is the operator's if stated, else what
// the plugin asks for, at most RequestFactor times the host's default, else the host's
// default. instances is what Unlimited stands for in Instances. The second result lists what
// the plugin asked for and did not get.
func effectiveLimits(operator, host Limits, instances int, m *manifest.Manifest) (Limits, []string, error) {
	var wish Limits
	if m != nil {
		var err error
		if wish, err = requestedLimits(m.Limits); err != nil {
			return Limits{}, nil, err
		}
	}
	var cut []string
	wish.Timeout = capWish(&cut, "timeout", wish.Timeout, host.Timeout, operator.Timeout)
	wish.InitTimeout = capWish(&cut, "init_timeout", wish.InitTimeout, host.InitTimeout, operator.InitTimeout)
	wish.Memory = capWish(&cut, "memory", wish.Memory, host.Memory, operator.Memory)
	wish.Output = capWish(&cut, "output", wish.Output, host.Output, operator.Output)
	l := operator.or(wish).or(host).inForce(instances)
	l.MinInstances = min(l.MinInstances, l.Instances)
	l.Memory = min(l.Memory-l.Memory%wasmPage, wazerox.MaxMemory)
	return l, cut, nil
}

// capWish caps a request of a plugin at RequestFactor times the default. It notes in cut that
// it did, unless the operator states the limit.
func capWish[T ~int64](cut *[]string, name string, wish, def, operator T) T {
	most := def * RequestFactor
	if def > math.MaxInt64/RequestFactor {
		most = math.MaxInt64
	}
	if wish <= most {
		return wish
	}
	if operator == 0 {
		*cut = append(*cut, fmt.Sprintf("asks for %s of %s and gets %s, %d times the default (set limits.%s to grant more)",
			limitText(wish), name, limitText(most), RequestFactor, name))
	}
	return most
}

// limitText is a time, or else a size.
func limitText[T ~int64](v T) string {
	if d, ok := any(v).(time.Duration); ok {
		return d.String()
	}
	return units.FormatSize(int64(v))
}

// requestedLimits reads the limits that a manifest asks for.
func requestedLimits(r manifest.LimitRequest) (l Limits, err error) {
	duration := func(name, s string) time.Duration {
		if s == "" || err != nil {
			return 0
		}
		d, perr := units.ParseDuration(s)
		if perr != nil {
			err = fmt.Errorf("limits.%s: %w", name, perr)
		}
		return d
	}
	size := func(name, s string) int64 {
		if s == "" || err != nil {
			return 0
		}
		n, perr := units.ParseSize(s)
		if perr != nil {
			err = fmt.Errorf("limits.%s: %w", name, perr)
		}
		return n
	}
	l.Timeout, l.InitTimeout = duration("timeout", r.Timeout), duration("init_timeout", r.InitTimeout)
	l.Memory, l.Output = size("memory", r.Memory), size("output", r.Output)
	return l, err
}
