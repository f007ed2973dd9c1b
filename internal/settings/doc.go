// Package settings checks the settings of a plugin against the JSON Schema (2020-12) that
// its manifest states for them, and fills in the defaults of the schema.
//
// Whoever writes a manifest chooses the schema, so the schema is as hostile as the plugin.
// Two bounds hold whatever it says. Compiling is bounded before it begins: a manifest has
// so many bytes, subschemas and patterns, and no more. Checking is bounded while it runs:
// each subschema and each pattern pays for its work out of a budget, and the check ends
// with an error when the budget is spent.
//
// Nothing is loaded from elsewhere: a schema that refers to another document is refused.
// Errors are one line of bounded length. They do not say whose settings are wrong; the
// caller does.
//
// The documents that models answer with are held against their schemas with the same bounds, because
// a guest states those schemas.
package settings
