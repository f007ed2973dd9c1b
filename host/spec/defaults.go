package spec

// What holds for a plugin if its manifest states nothing else and the operator neither.
const (
	// DefaultTopK is how many items retrieve and rerank are asked for at most.
	DefaultTopK = 10
	// DefaultMemory is the linear memory of one instance, in bytes. It is more than a stock Go
	// guest needs, which takes 20 MiB at 1,000 items.
	DefaultMemory = 64 << 20
	// DefaultKVQuota is the space for keys and values of each tenant, in bytes.
	DefaultKVQuota = 1 << 20
)
