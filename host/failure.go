package host

import (
	"errors"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// failure makes the error of a call that failed. in may be nil.
func (p *Plugin) failure(op abi.Operation, in *guest.Instance, err error) *PluginError {
	var known *PluginError
	if errors.As(err, &known) {
		return known
	}
	f := guest.Explain(in, err)
	return &PluginError{Plugin: p.name, Operation: op, Code: f.Reason, Err: f.Err, Remedy: f.Remedy, Log: f.Log, Stack: f.Stack}
}

// denied is the fault of a call that needs a grant that the plugin does not have.
func denied(what, key string) *guest.Fault {
	return &guest.Fault{Reason: abi.ReasonDenied, Err: fmt.Errorf("%s is not permitted", what), Remedy: "grant it with " + key}
}

// asked adds to the key of a grant that the manifest must ask for it. A foreign module has
// no manifest.
func asked(key string, foreign bool) string {
	if foreign {
		return key
	}
	return key + ", and ask for it in the manifest's permissions"
}
