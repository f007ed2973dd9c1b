package quota

import (
	"fmt"

	"github.com/anchor-host/anchor-host/internal/units"
)

// Limits are what a tenant, or one key of it, may use. 0 means that there is no limit.
//
// The limits of a second or a minute are buckets: they are full at the start, and fill evenly.
// What a request uses is known when it ends. So a request may run while its bucket has anything
// left, and takes the rest from the time that follows: a bucket can fall below 0, and then the
// next request waits longer.
type Limits struct {
	// RequestsPerSecond is a mean; the bucket has room for those of a second, and for one.
	// ConcurrentBuilds counts builds that run or wait.
	RequestsPerSecond float64 `key:"requests_per_second" json:"requests_per_second,omitzero" min:"0.001" max:"1000000" doc:"Requests of a second on average. As many may come at once, and at least one."`
	ConcurrentBuilds  int     `key:"concurrent_builds" json:"concurrent_builds,omitzero" min:"1" max:"1000000" doc:"Builds that run or wait at the same time."`
	// FuelPerMinute, TokensPerMinute and ModelCallsPerMinute are what builds use: units of fuel, tokens
	// of windows, requests to models.
	FuelPerMinute       int64 `key:"fuel_per_minute" json:"fuel_per_minute,omitzero" min:"1" doc:"Units of fuel that plugins use."`
	TokensPerMinute     int64 `key:"tokens_per_minute" json:"tokens_per_minute,omitzero" min:"1" doc:"Tokens in the windows that are built."`
	ModelCallsPerMinute int64 `key:"model_calls_per_minute" json:"model_calls_per_minute,omitzero" min:"1" doc:"Requests to models."`
	// USDPerDay is what models may cost, in US dollars, from midnight to midnight in UTC. It needs prices.
	USDPerDay float64 `key:"usd_per_day" json:"usd_per_day,omitzero" min:"0.000001" max:"1000000000" doc:"What models may cost in a day, in US dollars. The day begins at midnight in UTC. It needs telemetry.prices."`
	// MemoryRecords and MemoryBytes are what the store keeps.
	MemoryRecords int64 `key:"memory_records" json:"memory_records,omitzero" min:"1" doc:"Records in the store."`
	MemoryBytes   Size  `key:"memory_bytes" json:"memory_bytes,omitzero" doc:"Size of these records, such as 64MiB."`
	// CollectionBytes is what the tenant's collections take, with their index.
	CollectionBytes Size `key:"collection_bytes" json:"collection_bytes,omitzero" doc:"Size of the tenant's collections with their index, such as 1GiB. Documents that would exceed it are refused; those that the command ingests are not."`
}

// Size is a number of bytes. As a text it has a unit, such as 64MiB.
type Size int64

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := units.ParseSize(string(text))
	if err != nil {
		return fmt.Errorf("want a size such as 64MiB, got %.40q", text)
	}
	*s = Size(n)
	return nil
}

// MarshalText writes a size as UnmarshalText reads it.
func (s Size) MarshalText() ([]byte, error) { return []byte(units.FormatSize(int64(s))), nil }
