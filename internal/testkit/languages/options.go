package main

import "slices"

// options are the flags of the command.
type options struct {
	// Languages are the languages to build or test, all when empty.
	Languages []string
	// Out is the folder of the built modules.
	Out string
	// Write writes the table into the README instead of printing it.
	Write  bool
	README string
	// Short makes fewer calls in the conformance kit.
	Short bool
	// CI makes a missing toolchain a failure.
	CI bool
}

// selected reports whether a language is to be built or tested.
func (o *options) selected(language string) bool {
	return len(o.Languages) == 0 || slices.Contains(o.Languages, language)
}
