// Package serving makes of a configuration what a plugin host needs to serve guests: its
// embedders, the collections of the store and its models.
package serving
