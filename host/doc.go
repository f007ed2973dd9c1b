// Package host runs plugins: it loads, checks, meters, pools and calls
// WebAssembly guests. It is the only package that knows wazero, and it knows nothing of
// pipelines: a call is about rows and documents of package abi. Package host/steps makes
// steps of a build of it.
//
//	h, err := host.New(ctx, host.Config{})
//	entries, err := host.ReadDir("plugins")           // nothing has run yet
//	p, err := h.Load(ctx, entries[0].Spec, host.PluginConfig{})
//	filter, err := p.Operation(abi.OpFilter, host.OperationOptions{})
//	answer, err := filter.Changes(ctx, rows, &abi.Envelope{})
//	defer h.Close(ctx)
//
// # The life of a plugin
//
//  1. Read. [ReadDir], [ReadFile] and [ReadSpec] decode a module and its
//     manifest and hold them against the contract. Nothing runs; the answer is
//     the same on every machine.
//  2. Check. [Host.Load] holds settings against the plugin's schema, works out
//     limits, and intersects what the manifest asks for with what the operator
//     grants.
//  3. Compile. A module that takes too much to load is refused, see
//     [Spec.LoadEstimate]. The module is rewritten so that it meters itself, then
//     compiled, or taken from the disk cache. Plugins of one module share the result.
//     Load leaves when its context ends; what it began is there for the next one.
//  4. Start. An instance is made: start section, _initialize, the plugin's
//     init. All of it is metered and bounded by the limits of init. Its state
//     becomes the image, from which further instances start.
//  5. Call. An [Operation] takes an instance from the plugin's pool, sends the columns
//     the manifest reads and receives changes, never items. The changes are
//     checked as a whole, and the tokens of what they add are counted. The caller
//     applies them to a copy.
//  6. Return. The instance goes back to the pool and is put back to the image
//     before it serves again. Where that is not possible, after an exit or many
//     calls, or when its memory has grown too much, it is closed and another
//     takes its place.
//     An instance that nobody used for a while is closed, and earlier when the
//     host needs its room for another plugin; one place is the plugin's own.
//  7. Close. [Plugin.Close] and [Host.Close] wait for running calls.
//
// An embedder that needs a guest with a memory of its own, as users of Extism are used
// to, takes a [Session] of the plugin in place of steps 5 and 6.
//
// # Trust
//
// Guests are hostile. Every pointer, length, count, row, score and text from a
// guest is checked where it enters; only mem.go reads what a guest points to, and
// only part.go, which captures and restores it, the memory as a whole. A guest
// cannot panic, block or outgrow the host: fuel, time, memory, tables, stack, input,
// output, log, HTTP bodies, instances, added items, open files, and the bytes and files
// of folders are bounded, and every bound has a finite default. That of the stack is
// fixed: 9 MiB for the calls of a compiled guest on Linux. Token counts of guests are
// ignored: the host counts what they add or rewrite.
//
// An answer is held to its grant and its limits before anything is allocated for it.
// What is decoded of it takes at most 4 times its bytes and 1 MiB ([abi.Bounds]); it counts
// for the call's time, limits.memory and the memory of the host until it is applied, and so
// does counting its tokens for the time.
//
// # Lanes
//
// An operation is called in the batch lane, columns written straight into the
// guest's memory, or in the JSON lane, one document each way: through Extism's
// functions, or in the guest's memory if it takes documents there. All mean the same.
//
// # State
//
// With [StateReset], the default, no call finds anything of an earlier one:
// memory, globals, the size of the memory, Extism variables and the last HTTP
// response are what they were after init. What must outlive a call belongs into
// the key-value store, of which each plugin has one for each tenant ([WithTenant])
// as long as the host lives, or as long as Config.KVStore keeps it. The image also freezes what init drew from chance: hash
// seeds, map order and the sequence of math/rand are the same in every call.
// Clocks and the random numbers of WASI are live, unless the plugin is
// deterministic; then they too are the same in every call.
//
// A reset that takes a few microseconds, as after a call that wrote little, is
// done by the caller; a longer one by the pool while another instance serves, so
// a caller seldom waits for it. Then a pool keeps one instance more than are in
// use, up to Limits.Instances. After a trap or a deadline an instance is reset like after
// any call; after an exit, or when it has changed its file descriptors, it is replaced,
// and after a stack overflow where stacks grow.
//
// With Config.ImageCache an image that took long to make is kept on disk, so that the
// next process does not run init again, as long as nothing has changed that init could
// depend on.
//
// A module that writes to its tables, drops segments, has mutable globals that
// are references, or leaves files open in its init cannot be captured. It gets
// [StateFresh], an instance with an init of its own for every call, unless
// [StateKeep] is stated, with which what a guest leaves behind is there in the
// next call of the same instance. Such an instance serves one tenant only.
//
// # Fairness
//
// At most as many guests run at once as there are processors. A call that runs longer than a
// tenth of a millisecond, or that begins while all processors are taken, has a turn at one.
// Where it comes to the host for the next slice of fuel, it hands its turn to a plugin that
// waits and used less lately; see package fairness. Time spent waiting before a call begins
// is bounded by Limits.QueueTimeout, and later by the call's own time. Host functions that
// may block are without a processor.
//
// A plugin whose calls fail again and again, by time, fuel, memory, a trap, an exit or an
// answer that breaks the contract, is rested: its calls fail at once with the reason rested,
// until one that is made as a trial ends well. See Limits.RestAfter and [Plugin.Stats].
//
// # What the embedder gives
//
// An embedder can give a store of its own for keys and values (Config.KVStore), a transport
// for HTTP (Config.HTTPTransport) and file systems to be read (FileGrant.FS). Grants and
// quotas are held by the host as without. Such code runs within the time of the guest's call
// and without a processor's turn. It may hang or panic: the call ends, and the instance
// serves on. At most 64 calls of it are left behind for each plugin.
//
// What goes on is seen by [Host.Stats], [Plugin.Stats] and Config.OnCall.
//
// # Ownership
//
// A [Host] and a [Plugin] are safe for concurrent use, and so is everything
// made of them. Close the Host, or each Plugin; a Plugin that is not closed
// keeps its memory. An instance has one owner at a time, and only its owner
// closes it.
package host

// The files of this package, along the life of a plugin, in the order to read them.
// Each has one role.
//
//	the host itself        host, config, features, limits, budget, places, reclaim, errors, faults, trust
//	reading a plugin       dir, source, manifest, narrow, spec, facts
//	for its author         anatomy, embed
//	checking               plugin, permissions, links
//	compiling              runtime, module, circles, shell, codecache, codenote, loading
//	starting               instantiate, instance, part, image, imagestore, imagefile, strategy, selftest
//	calling                plugincall, session, lend, state, call, receipt, mailbox, mem, exchange
//	what is asked of it    operation, grant, reply, foreigncall
//	what guests import     extism, kernel, hostcall, services, kv, kvstore, tenant, http, transport, httprule, functions, nested, embedder
//	WASI                   wasi, wasicalls, capture, clock, fixed, files, file, folder, fsmount, descriptors, filelimit
//	what bounds a call     fuel, turns, resting, stacks, grownstacks, overflow, tending, addresses
//	between calls          pool, spare
//	for the embedder       stats, hooks
//
// What needs nothing of a host is in packages of its own, in the folder internal: settings
// checks settings, egress holds HTTP requests to their grants, and codestore owns the folder
// of what is kept between processes.
