// Package sharing lets tenants read collections of other tenants, as a configuration says. Each index of
// the program goes through it, so a name means the same collection wherever it stands.
package sharing
