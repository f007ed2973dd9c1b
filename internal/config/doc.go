// Package config reads and checks anchor.yaml.
//
// [Load] decodes the file strictly: every unknown key, wrong type, value out of
// bounds and broken reference is reported at once, with line, column, key path
// and the nearest valid key. Paths in the file are relative to the file.
// Each value that is in no list can be overridden by an environment variable, and
// some by flags ([Overrides]); [Loaded.Settings] lists every effective value with its origin,
// and [Schema] prints the whole format as a JSON Schema.
//
// The package runs nothing and opens no plugin; package assemble does.
package config
