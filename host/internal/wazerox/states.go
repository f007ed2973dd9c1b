package wazerox

// Feature is one thing that the host takes from wazero without a promise of wazero's.
type Feature int

// The features.
const (
	// Stacks has calls run on stacks of a fixed size, see [Stack].
	Stacks Feature = iota
	// StackSizes tells the size of a stack that is wazero's, see [StackOf].
	StackSizes
	// Memories has guests use memories of the host's, see [WithMemory].
	Memories
	// Shrinking makes memories that grew smaller again, see [Shrink].
	Shrinking
	// Linking links modules to instances that have no name, see [Resolving].
	Linking
	// TrapTexts tells traps that WebAssembly defines from other errors, see [Trapped].
	TrapTexts
	// OpenFiles tells whether an instance has the files open that it started with, see
	// [NoteDescriptors].
	OpenFiles
	// Mounts shows folders of the host to guests, see [Mount].
	Mounts
	// TailCalls and ExtendedConst let guests use what WebAssembly 2.0 has not.
	TailCalls
	ExtendedConst
	// CodeFiles keeps machine code that wazero left in files, see [OpenCode].
	CodeFiles
	// Shells has wazero take machine code for a module without its code.
	Shells
	features
)

// State says whether a feature is on.
type State struct {
	Feature Feature
	On      bool
	// Why says why it is off, "" where it is on.
	Why string
	// Unexpected says that it is off although the system and the engine have what it
	// needs: wazero is another one than the tests know.
	Unexpected bool
}

// States are those of all features with one engine.
type States [features]State

// On reports whether a feature is on.
func (s *States) On(f Feature) bool { return s[f].On }

// Off switches features off, and those that need them.
func (s *States) Off(why string, off ...Feature) {
	for _, f := range off {
		s[f] = State{Feature: f, Why: why}
	}
	for f, needed := range needs {
		if s.On(f) && !s.On(needed) {
			s[f] = State{Feature: f, Why: "needs " + needed.String()}
		}
	}
}

// needs says which feature needs which.
var needs = map[Feature]Feature{Shrinking: Memories, Linking: Memories, Shells: CodeFiles}
