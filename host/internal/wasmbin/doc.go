package wasmbin
