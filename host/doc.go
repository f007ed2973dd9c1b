// Package host runs plugins: it loads, checks, meters, pools and calls WebAssembly guests.
// Apart from tools, only this package and its internal packages use wazero. It does not run
// pipelines: its calls exchange rows and documents of package abi. Package host/steps turns
// its operations into steps of a build.
//
//	h, err := host.New(ctx, host.Config{})
//	defer h.Close(ctx)
//	entries, err := host.ReadDir("plugins")           // nothing has run yet
//	p, err := h.Load(ctx, entries[0].Spec, host.PluginConfig{})
//	filter, err := p.Operation(abi.OpFilter, host.OperationOptions{})
//	answer, err := filter.Changes(ctx, rows, &abi.Envelope{})
//	defer answer.Release()                            // once its changes are applied
//
// # The life of a plugin
//
//  1. Read. [ReadDir], [ReadFile] and [ReadSpec] decode a module and its manifest and check
//     them against the contract. Nothing runs. The result is the same on every machine.
//  2. Check. [Host.Load] checks the settings against the plugin's schema, settles the
//     limits, and permits what the manifest asks for and the operator grants.
//  3. Compile. The host refuses a module that takes too much to load; see
//     [Spec.LoadEstimate]. It rewrites the module so that it meters itself, and compiles it
//     or takes the machine code from the disk cache. Plugins of one module share the
//     result. Load returns when its context ends. The compilation then goes on, and the
//     next Load finds it.
//  4. Start. The host makes an instance and runs its start section, _initialize and the
//     plugin's init. The limits of init bound all of this. The state afterwards becomes the
//     image, from which further instances start.
//  5. Call. An [Operation] borrows an instance from the plugin's pool, sends it the columns
//     that the manifest reads, and receives changes instead of whole items. The host checks
//     the changes as a whole and counts the tokens of what they add. The caller applies
//     them to a copy.
//  6. Return. The instance goes back to the pool and is reset to the image before it serves
//     again. It is closed and replaced if it cannot be reset, as after an exit, if it has
//     served many calls, or if its memory has grown too much. An instance that is idle for
//     a while is closed, and earlier if the host needs the room for another plugin. Each
//     plugin keeps one place for an instance.
//  7. Close. [Plugin.Close] and [Host.Close] wait for running calls.
//
// An embedder whose guest must keep its memory between calls, as with Extism, takes a
// [Session] of the plugin instead of steps 5 and 6.
//
// # Trust
//
// Guests are hostile. The host checks every pointer, length, count, row, score and text
// from a guest where it enters. Only mem.go, wasicalls.go and package kernel read what a
// guest points to. Only part.go reads memories as a whole, to capture and restore them.
//
// A guest cannot panic, block or outgrow the host. Bounded are fuel, time, memory, tables,
// stack, input, output, log, HTTP bodies, instances, added items, open files, and the bytes
// and files of folders. Every bound has a finite default. The bound of the stack is fixed:
// 9 MiB for the calls of a compiled guest on Linux. The host ignores the token counts of
// guests and counts what they add or rewrite itself.
//
// An answer is checked against its grant and its limits before anything is allocated for
// it. Decoded, it takes at most about 4 times its bytes and 1 MiB; see [abi.Bounds]. Until
// it is applied, that memory counts for limits.memory and for the memory of the host.
// Decoding it and counting its tokens count for the time of the call.
//
// # Lanes
//
// The host calls an operation in one of two lanes. In the batch lane it writes columns
// straight into the guest's memory. In the JSON lane one document goes each way: through
// Extism's functions, or in the guest's memory if the guest takes documents there. Both
// lanes mean the same.
//
// # State
//
// With [StateReset], the default, no call finds anything of an earlier one: memory,
// globals, the size of the memory, Extism variables and the last HTTP response are what
// they were after init. What must outlive a call belongs into the key-value store. Each
// plugin has one store for each tenant ([WithTenant]), which lasts as long as the host or
// as Config.KVStore keeps it.
//
// The image also freezes the random numbers that init drew: hash seeds, map order and the
// sequence of math/rand are the same in every call. Clocks and the random numbers of WASI
// are live, unless the plugin is deterministic; then they too are the same in every call.
//
// The caller does a reset that takes a few microseconds, as after a call that wrote little.
// The pool does a longer one while another instance serves, so a caller seldom waits for
// it. For this, a pool keeps one instance more than are in use, up to Limits.Instances. An
// instance is reset after a trap or a deadline as after any call. It is replaced after an
// exit, after a call that changed its file descriptors, and, where stacks grow, after a
// stack overflow.
//
// With Config.ImageCache the host keeps an image that took long to make on disk. The next
// process does not run init again if nothing has changed that init could depend on.
//
// A module cannot be captured if it writes to its tables, drops segments, has mutable
// globals that are references, or leaves files open in its init. It gets [StateFresh]: a
// new instance, with an init of its own, for every call, unless the operator states
// [StateKeep]. Under StateKeep an instance keeps what a call leaves behind for its next call,
// and serves one tenant only.
//
// # Fairness
//
// At most as many guests run at once as there are processors. A call needs a turn at a
// processor if it runs longer than a tenth of a millisecond, or if all processors are taken
// when it begins. When it asks the host for the next slice of fuel, it hands its turn to a
// waiting plugin that used less lately; see package fairness. Limits.QueueTimeout bounds
// the wait before a call begins. Later waits count for the call's own time. A host function
// that may block gives the processor back meanwhile.
//
// The host rests a plugin whose calls fail again and again, by time, fuel, memory, a trap,
// an exit or an answer that breaks the contract. Its calls then fail at once with the
// reason rested, until one that is made as a trial succeeds. See Limits.RestAfter and
// [Plugin.Stats].
//
// # What the embedder provides
//
// An embedder can provide its own key-value store (Config.KVStore), transport for HTTP
// (Config.HTTPTransport) and read-only file systems (FileGrant.FS). The host enforces
// quotas and, but for what Config.HTTPTransport says of addresses, grants as it does
// without them. This code runs within the time of the guest's call and without a
// processor's turn. If it hangs, the call ends with its time. If it panics, that is an
// error like any other that it returns. The instance can serve on. Calls of this code that
// did not return in time are left behind, at most 64 for each plugin.
//
// [Host.Stats], [Plugin.Stats] and Config.OnCall report what happens.
//
// # Ownership
//
// A [Host], a [Plugin] and everything made of them are safe for concurrent use. Close the
// Host, or each Plugin: a Plugin that is not closed keeps its memory. An instance has one
// owner at a time, and only its owner closes it.
package host

// The files of this package, along the life of a plugin, in the order to read them.
// Each has one role.
//
//	the host itself        host, config, features, limits, budget, places, reclaim, errors, trust
//	reading a plugin       dir, source, manifest, narrow, spec, facts
//	for its author         anatomy, embed
//	checking               plugin, permissions, links
//	compiling              runtime, module, circles, kernels, shell, codecache, codenote, loading
//	starting               starting, owner, imagestore, imagefile, strategy, selftest
//	calling                plugincall, session, lend, exchange, failure
//	what is asked of it    operation, grant, reply, foreigncall
//	what guests import     hostfuncs, services, kv, kvstore, tenant, http, transport, httprule, functions, embedder
//	WASI                   wasi, wasistate, wasicalls, clock, fixed, files, file, folder, fsmount, descriptors, filelimit
//	what bounds a call     resting, stacktimer, addresses
//	for the embedder       stats, hooks
//
// The files about one instance, which refer to no Host and no Plugin:
//
//	what it is              environment, instance, part, members, image
//	how it starts           instantiate, kernel
//	how it is called        call, state, mailbox, mem, receipt, nested, faults, tally
//	what its guest imports  extism, hostcall, capture
//	what bounds its calls   fuel, turns, charging, stacks, grownstacks, stackcheck, overflow
//
// Code that does not need a host is in packages of the folder internal: settings checks
// settings, egress checks HTTP requests against their grants, pool lends instances, and
// codestore owns the cache folder, which lasts between processes.
