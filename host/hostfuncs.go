package host

import (
	"maps"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// hostFuncs are the functions of abi.Imports by name, except for those of the kernel.
// CONTRIBUTING.md says what else a new one touches.
//
// A function that works for longer than its weight covers is wrapped in Slow, one that waits
// for something outside in Blocking. One that tells the guest what may be different in the
// next process sets Outside of the instance, because the image would keep it. What clocks
// show comes from the instance's WASI, which has other clocks for a Deterministic plugin.
var hostFuncs = func() map[string]guest.Function {
	all := map[string]guest.Function{
		"http_request":        guest.Blocking(httpRequest),
		abi.ImportKVGet:       kvGet,
		abi.ImportKVSet:       kvSet,
		abi.ImportCountTokens: guest.Slow(countTokens),
	}
	maps.Copy(all, guest.Functions)
	return all
}()
