// Package plugin holds the logic of crm-snapshot: where a record is, what counts as
// one, and where it goes in the list of messages.
package plugin
