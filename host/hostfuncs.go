package host

import (
	"maps"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
)

// hostFuncs are the functions of abi.Imports by name, except for those of the kernel.
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
