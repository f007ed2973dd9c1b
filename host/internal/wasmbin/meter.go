package wasmbin

// Names and sizes of the metering contract between a rewritten module and its host.
const (
	// TickModule and TickName are the default import through which a metered
	// module asks for fuel: () -> i64, the next slice.
	TickModule = "anchor:meter"
	TickName   = "tick"
	// FuelExport is the default export name of the fuel counter, a mutable i64 global.
	FuelExport = "anchor:fuel"
	// DefaultSlice is a good slice for tick to return: small enough that a
	// guest reaches the host every few dozen microseconds, and bulk operations of
	// 64 KiB and more always reach it before they run; large enough that the
	// host call is under 1 % of the time.
	DefaultSlice = 1 << 16
)

// MeterOptions configures Meter. The zero value works.
type MeterOptions struct {
	// TickModule and TickName name the import; empty means the constants of
	// the same name. A module that imports from it already is refused.
	TickModule, TickName string
	// FuelExport is the export name of the counter; empty means the constant of
	// the same name. A module that exports it already is refused.
	FuelExport string
	// MaxMemoryPages caps the declared maximum of the module's own memory, in
	// pages of 64 KiB; zero means MaxPages. A larger minimum is refused.
	MaxMemoryPages uint32
	// MaxTable caps the declared maximum of the module's own tables, in
	// elements; zero means the constant MaxTable. A larger minimum is refused.
	MaxTable uint32
	// Bounds are the limits on the module's size; see [Bounds].
	Bounds Bounds
}

// Meter returns the module with fuel metering inserted.
func Meter(bin []byte, o MeterOptions) ([]byte, error) { return nil, nil }

// Inspect decodes a module.
func Inspect(bin []byte) (*Info, error) { return nil, nil }

// AppendCustom returns the module with a custom section added at its end.
func AppendCustom(bin []byte, name string, data []byte) ([]byte, error) { return nil, nil }

// Custom returns the content of the first custom section of that name.
func Custom(bin []byte, name string) (data []byte, ok bool, err error) { return nil, false, nil }
