package host

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// The default limits, each with its reason.
const (
	// DefaultTimeout is several times what a slow rerank takes, and short
	// enough that a user still waits for a build that skips the step.
	DefaultTimeout = 2 * time.Second
	// DefaultInitTimeout lets a plugin build an index of tens of thousands of
	// documents.
	DefaultInitTimeout = 60 * time.Second
	// DefaultQueueTimeout is how long a call waits for a free instance, and then for a
	// free processor: about one full call of another.
	DefaultQueueTimeout = 2 * time.Second
	// DefaultIdleTimeout is how long an instance that nobody uses is kept: longer than
	// the pauses of a conversation mostly are.
	DefaultIdleTimeout = time.Minute
	// DefaultFuel is the instructions of one call: several times what compiled
	// code executes in DefaultTimeout, so it stops only what no clock stops.
	DefaultFuel = 20_000_000_000
	// DefaultMemory holds a stock Go guest (20 MiB at 1,000 items) with room.
	DefaultMemory = 64 << 20
	// DefaultInput is thousands of items with their text.
	DefaultInput = 32 << 20
	// DefaultOutput is more text than any window takes.
	DefaultOutput = 8 << 20
	// DefaultLogBytes is what one call may write to stdout, stderr and the log.
	DefaultLogBytes = 64 << 10
	// DefaultHTTPBody bounds a request's and a response's body.
	DefaultHTTPBody = 8 << 20
	// DefaultItems is the most items one call may add.
	DefaultItems = 10_000
	// DefaultTokens is the most tokens one call may add, the size of the
	// largest windows in use.
	DefaultTokens = 1_000_000

	// DefaultRestAfter is how many calls of a plugin fail in a row before it is rested:
	// one hopeless input that a caller tries three times is not enough.
	DefaultRestAfter = 5
	// DefaultRestMost is the longest rest: a plugin that is mended by what lies outside
	// of it serves again within a minute.
	DefaultRestMost = time.Minute

	// DefaultKVQuota is the key-value space of a plugin for each tenant, where its
	// grant states none.
	DefaultKVQuota = 1 << 20
	// DefaultKVMemory bounds the key-value stores of a whole host: a thousand full
	// ones of DefaultKVQuota.
	DefaultKVMemory = 1 << 30
	// DefaultFolderQuota is what a folder that a plugin may write to may hold, in bytes,
	// and DefaultFolderFiles the most files and folders in it, where the grant states
	// none.
	DefaultFolderQuota = 64 << 20
	DefaultFolderFiles = 10_000
	// DefaultMaxInstances bounds the instances of a whole host; an idle stock
	// Go guest holds about 4 MiB.
	DefaultMaxInstances = 256
	// DefaultHostMemory bounds the memory of the instances of a whole host, where the
	// control groups of the process leave twice as much; see [MemoryDefault].
	DefaultHostMemory = 2 << 30
	// DefaultLoadMemory bounds what compilations at the same time take: the largest that
	// is allowed for a small module, three times.
	DefaultLoadMemory = 1 << 30
	// DefaultPluginShare is the part of the host's memory that the instances of one
	// plugin may take together: two of its kind leave the host full, and no one alone.
	DefaultPluginShare = 0.5
	// DefaultImageCache is what the command gives images on disk: a few large indexes.
	DefaultImageCache = 1 << 30
	// RequestFactor is how far above a default the manifest of a plugin may
	// ask; only the operator's own configuration goes further.
	RequestFactor = 4
)

const (
	wasmPage = 64 << 10
	// varQuota bounds the Extism variables of one instance, as other Extism
	// hosts do.
	varQuota = 1 << 20
	// maxErrorText bounds the message a guest sets with error_set.
	maxErrorText = 4 << 10
	// maxTableSize bounds the tables of a guest, together: they lie outside of its
	// memory, on the account of the host's. wazero has no limit, and the largest real
	// table seen has 50,000 elements.
	maxTableSize = 1 << 20
	// recycleCalls retires an instance so that slow leaks in guests end; memory
	// growth retires it much earlier.
	recycleCalls = 100_000
	// recycleHeadroom retires an instance whose memory has grown by three
	// quarters of the room it had after init.
	recycleHeadroom = 0.75
	// firstRest is the first rest of a plugin.
	firstRest = time.Second
)

// Limits bound one plugin. In a configuration 0 means the default; in
// [Plugin.Limits] every field is set but LoadMemory and LoadTime.
type Limits struct {
	// Timeout bounds one call, InitTimeout start and init, QueueTimeout the
	// wait for a free instance or for room for one, and that for a free processor before
	// the call begins.
	Timeout, InitTimeout, QueueTimeout time.Duration
	// IdleTimeout is how long an instance is kept that nobody uses. One is always kept,
	// and as many as MinInstances says. 0: DefaultIdleTimeout.
	IdleTimeout time.Duration
	// Fuel is the most instructions of one call, counted by static weight. Init
	// has as much per unit of its longer time.
	Fuel int64
	// Memory is the most linear memory of one instance, Input and Output the
	// most bytes of one call's documents, LogBytes of its messages, HTTPBody of
	// each request and response. All in bytes.
	Memory, Input, Output, LogBytes, HTTPBody int64
	// Items and Tokens are the most that one call may add.
	Items, Tokens int
	// Instances is the most calls that run at the same time. 0: one per
	// processor.
	Instances int
	// MinInstances are made ahead and kept, so that as many calls at once find
	// one. 0: they are made when they are needed. At most Instances.
	MinInstances int
	// RestAfter is how many calls fail in a row, by timeout, fuel, memory, trap, exit,
	// an output that is invalid or too large, or a failed init, before the plugin is
	// rested: for a second at first, and for twice as long, up to RestMost, whenever it
	// fails again right after. Meanwhile its calls fail with the reason rested. 0:
	// DefaultRestAfter. Negative: it never is rested.
	RestAfter int
	// RestMost is the longest rest. 0: DefaultRestMost.
	RestMost time.Duration
	// LoadMemory and LoadTime are the most that loading the module may take by its
	// estimate, in bytes and in time of one processor. 0: 300 MiB and 20 bytes for each
	// byte of its code; 5 s, or 1.3 s for each MiB of its code where that is more.
	LoadMemory int64
	LoadTime   time.Duration
}

func builtinLimits() Limits {
	return Limits{
		Timeout: DefaultTimeout, InitTimeout: DefaultInitTimeout, QueueTimeout: DefaultQueueTimeout,
		IdleTimeout: DefaultIdleTimeout,
		Fuel:        DefaultFuel, Memory: DefaultMemory, Input: DefaultInput, Output: DefaultOutput,
		LogBytes: DefaultLogBytes, HTTPBody: DefaultHTTPBody,
		Items: DefaultItems, Tokens: DefaultTokens, Instances: runtime.GOMAXPROCS(0),
		RestAfter: DefaultRestAfter, RestMost: DefaultRestMost,
	}
}

// or returns l with its zero fields taken from d.
func (l Limits) or(d Limits) Limits {
	return Limits{
		Timeout: pick(l.Timeout, d.Timeout), InitTimeout: pick(l.InitTimeout, d.InitTimeout),
		QueueTimeout: pick(l.QueueTimeout, d.QueueTimeout), IdleTimeout: pick(l.IdleTimeout, d.IdleTimeout),
		Fuel: pick(l.Fuel, d.Fuel), Memory: pick(l.Memory, d.Memory),
		Input: pick(l.Input, d.Input), Output: pick(l.Output, d.Output),
		LogBytes: pick(l.LogBytes, d.LogBytes), HTTPBody: pick(l.HTTPBody, d.HTTPBody),
		Items: pick(l.Items, d.Items), Tokens: pick(l.Tokens, d.Tokens), Instances: pick(l.Instances, d.Instances),
		MinInstances: pick(l.MinInstances, d.MinInstances),
		RestAfter:    pick(l.RestAfter, d.RestAfter), RestMost: pick(l.RestMost, d.RestMost),
		LoadMemory: pick(l.LoadMemory, d.LoadMemory), LoadTime: pick(l.LoadTime, d.LoadTime),
	}
}

func pick[T ~int | ~int64](v, otherwise T) T {
	if v != 0 {
		return v
	}
	return otherwise
}

// check refuses limits that no plugin could work under.
func (l Limits) check() error {
	for _, f := range []struct {
		name string
		v    int64
	}{
		{"timeout", int64(l.Timeout)}, {"init_timeout", int64(l.InitTimeout)}, {"queue_timeout", int64(l.QueueTimeout)},
		{"idle_timeout", int64(l.IdleTimeout)},
		{"fuel", l.Fuel}, {"memory", l.Memory}, {"input", l.Input}, {"output", l.Output},
		{"log_bytes", l.LogBytes}, {"http_body", l.HTTPBody},
		{"items", int64(l.Items)}, {"tokens", int64(l.Tokens)}, {"instances", int64(l.Instances)},
		{"min_instances", int64(l.MinInstances)}, {"rest_most", int64(l.RestMost)}, {"load_memory", l.LoadMemory}, {"load_time", int64(l.LoadTime)},
	} {
		if f.v < 0 {
			return fmt.Errorf("limit %s %d: %w (want 0 for the default, or more)", f.name, f.v, ErrConfig)
		}
	}
	if l.Memory > 4<<30 {
		return fmt.Errorf("limit memory %d: %w (want at most 4GiB)", l.Memory, ErrConfig)
	}
	return nil
}

// effectiveLimits are the operator's where stated, else the plugin's wishes
// within RequestFactor times the host's defaults, else those. The second result
// says what was asked for and not given.
func effectiveLimits(operator, host Limits, m *abi.Manifest) (Limits, []string, error) {
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
	l := operator.or(wish).or(host)
	l.MinInstances = min(l.MinInstances, l.Instances)
	l.Memory = min(l.Memory-l.Memory%wasmPage, wazerox.MaxMemory)
	return l, cut, nil
}

// capWish holds a wish to RequestFactor times the default, and notes when the
// operator has stated nothing and the wish is cut.
func capWish[T ~int64](cut *[]string, name string, wish, def, operator T) T {
	most := def * RequestFactor
	if def > math.MaxInt64/RequestFactor {
		most = math.MaxInt64
	}
	if wish <= most {
		return wish
	}
	if operator == 0 {
		*cut = append(*cut, fmt.Sprintf("asks for more %s than is given unasked (set limits.%s to grant it)", name, name))
	}
	return most
}

// requestedLimits reads the wishes of a manifest.
func requestedLimits(r abi.LimitRequest) (l Limits, err error) {
	duration := func(name, s string) time.Duration {
		if s == "" || err != nil {
			return 0
		}
		d, perr := abi.ParseDuration(s)
		if perr != nil {
			err = fmt.Errorf("limits.%s: %w", name, perr)
		}
		return d
	}
	size := func(name, s string) int64 {
		if s == "" || err != nil {
			return 0
		}
		n, perr := abi.ParseSize(s)
		if perr != nil {
			err = fmt.Errorf("limits.%s: %w", name, perr)
		}
		return n
	}
	l.Timeout, l.InitTimeout = duration("timeout", r.Timeout), duration("init_timeout", r.InitTimeout)
	l.Memory, l.Output = size("memory", r.Memory), size("output", r.Output)
	return l, err
}
