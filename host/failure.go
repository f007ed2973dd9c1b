package host

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
)

// failure makes the error of a call that failed. in may be nil.
func (p *Plugin) failure(op abi.Operation, in *instance, err error) *PluginError {
	var known *PluginError
	if errors.As(err, &known) {
		return known
	}
	f := failureOf(in, err)
	return &PluginError{Plugin: p.name, Operation: op, Code: f.code, Err: f.err, Remedy: f.remedy, Log: f.log, Stack: f.stack}
}

// denied is the fault of a call that needs a grant that the plugin does not have.
func denied(what, key string) *fault {
	return &fault{code: abi.ReasonDenied, err: fmt.Errorf("%s is not permitted", what), remedy: "grant it with " + key}
}

// asked adds to the key of a grant that the manifest must ask for it. A foreign module has
// no manifest.
func asked(key string, foreign bool) string {
	if foreign {
		return key
	}
	return key + ", and ask for it in the manifest's permissions"
}
