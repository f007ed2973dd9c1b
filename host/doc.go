// Package host runs plugins: it loads, checks, meters, pools and calls WebAssembly guests.
// It does not run pipelines: its calls exchange rows and documents of package abi. Package
// host/steps turns its operations into steps of a build.
//
//	h, err := host.New(host.Config{})
//	defer h.Close(ctx)
//	entries, err := spec.ReadDir("plugins")           // nothing has run yet
//	p, err := h.Load(ctx, entries[0].Spec, host.PluginConfig{})
//	filter, err := p.Operation(abi.OpFilter, host.OperationOptions{})
//	answer, err := filter.Changes(ctx, rows, &abi.Envelope{})
//	defer answer.Release()                            // once its changes are applied
//
// A [spec.Spec] is a module that was read and checked; nothing has run. [Host.Load] makes a
// [Plugin] of it: it checks the configuration, compiles the module and runs its init. An
// [Operation] or [Plugin.Call] borrows an instance of the plugin for one call. Afterwards the
// instance is as it was after init; [State] has other choices, and a [Session] is an instance
// that keeps what its calls leave.
//
// Guests are hostile. None can panic, block or outgrow the host: every bound has a finite
// default ([Limits]), and a plugin may do only what its manifest asks for and its [Grants]
// allow. A plugin that fails again and again is not called for a while; see Limits.BreakAfter.
//
// What is the same for all calls of an operation is in [OperationOptions]. What differs from
// call to call is in the call's context: its deadline, the tenant ([WithTenant]), and what
// Config.OnCall finds there of the embedder's own. TopK and the query are in [abi.Envelope].
//
// A failed call has a [PluginError]; its Code says why, and its Retryable whether to try
// again. [Host.Stats], [Plugin.Stats] and Config.OnCall report what happens.
//
// A [Host], a [Plugin] and everything made of them are safe for concurrent use. Close the
// Host, or each Plugin: one that is not closed keeps its memory.
package host

// The lifecycle of a plugin, for maintainers.
//
//  1. Read. spec.ReadDir, spec.ReadFile and spec.Read decode a module and its manifest and check them
//     against the contract. The result is the same on every machine.
//  2. Check. Load checks the settings against the plugin's schema, settles the limits, and
//     permits what the manifest asks for and the operator grants.
//  3. Compile. The host refuses a module that takes too much to load, rewrites it so that it
//     meters itself, and compiles it or takes the machine code from the disk cache. Plugins
//     of one module share the result. Load returns when its context ends; the compilation
//     goes on, and the next Load finds it.
//  4. Start. The host makes an instance and runs its start section, _initialize and init,
//     within the limits of init. The state afterwards becomes the image, from which further
//     instances start.
//  5. Call. An instance is lent, receives the columns that the manifest reads, and answers
//     with changes. An answer is checked against its grant and its limits before anything is
//     allocated for it; decoded, it takes at most about 4 times its bytes and 1 MiB. Until
//     it is released it counts for limits.memory and for the memory of the host. The host
//     ignores the token counts of guests and counts itself, in the time of the call.
//  6. Return. The instance is reset to the image before it serves again. It is replaced if
//     it cannot be reset, as after an exit, if it has served many calls, or if its memory
//     has grown too much. An idle one is closed after a while, and earlier if the host needs
//     the room. Each plugin keeps one place for an instance.
//  7. Close. Plugin.Close and Host.Close wait for running calls.
//
// Every pointer, length, count, row, score and text from a guest is checked where it enters.
// Only guest/mem.go and the packages wasi and kernel read what a guest points to. Only
// guest/part.go reads memories as a whole, to capture and restore them. An instance has one
// owner at a time, and only its owner closes it. Apart from tools, only this package and its
// internal packages use wazero.

// The files of this package, along the life of a plugin, in the order to read them.
// Each has one role.
//
//	the host itself        host, config, embedder, choices, features, limits, bounds, errors, new
//	checking               plugin, permissions, links
//	compiling              loading, cachefolder
//	starting               starting, selftest
//	calling                call, lend, plugincall, session
//	what is asked of it    operation, answers, foreigncall
//	what guests import     functions, tenants
//	WASI                   folders
//	what bounds a call     breaker
//	for the embedder       stats, hooks
//
// Package spec reads plugins, and package guest makes, calls and resets one instance.
