// Package wasi serves the functions of WASI preview 1 to guests. [Offer] puts wazero's
// functions into an engine, each behind a guard: the guard charges fuel for what the function
// does, refuses sizes that no honest guest needs, and ends calls whose time is over.
//
// A [State] is what one guest sees through the functions: its files, its clocks, its random
// numbers, and where its output goes. Package mounts provides the files.
//
// The package knows nothing of plugins and instances. What it needs of the call that a guest
// is in, it asks of a [Call].
package wasi
