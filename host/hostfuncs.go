package host

import (
	"maps"

	"github.com/anchor-host/anchor-host/abi"
)

// hostFuncs are the functions of abi.Imports by name, except for those of the kernel.
var hostFuncs = func() map[string]hostFunc {
	all := map[string]hostFunc{
		"http_request":        blocking(httpRequest),
		abi.ImportKVGet:       kvGet,
		abi.ImportKVSet:       kvSet,
		abi.ImportCountTokens: slow(countTokens),
	}
	maps.Copy(all, extismFuncs)
	return all
}()
