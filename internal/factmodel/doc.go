// Package factmodel has a model take facts from the turns of conversations, and merge, shorten and
// remove facts.
package factmodel
