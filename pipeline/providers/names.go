package providers

// The names and priorities of the built-in providers.
const (
	ObservingName   = "observing"
	ReflectingName  = "reflecting"
	ObservationName = "observation"
	CompactionName  = "compaction"
	TruncationName  = "truncation"
	EnforcementName = "enforcement"

	ObservingPriority   = 7
	ReflectingPriority  = 8
	ObservationPriority = 10
	CompactionPriority  = 20
	TruncationPriority  = 30
)
