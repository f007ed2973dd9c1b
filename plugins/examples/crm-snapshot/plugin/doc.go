// Package plugin has the logic of crm-snapshot: the address of a record, the check of a
// record, and its place in the list of messages.
package plugin
