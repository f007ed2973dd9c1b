// Package spec reads plugins: modules and their manifests are decoded and checked against the
// contract. Nothing runs, and the result is the same on every machine.
//
//	entries, err := spec.ReadDir("plugins")
//	plugin, err := spec.ReadFile("plugins/keep-recent.wasm")
//
// Package host loads what was read. Everything in a module and its manifest is taken as hostile:
// its size, its counts and the work that it causes are bounded.
package spec
