package wazerox

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// feature describes a Feature.
type feature struct {
	// name is what operators read, without what the host does where it is off.
	name, without string
	// tested are the versions of wazero with which the tests ran.
	tested []string
	// missing says why this system or this engine has it not, "" where they have. nil: they have.
	missing func(interpreted bool) string
	// probe tries it out. nil: each use does, see [Failed].
	probe func(*lab) error
}

// both are the version in go.mod, which comes first, and the one before, which is
// WAZERO_BEFORE in the Makefile. A program with another version does without all features,
// and so does a command that a test builds. The binary of a test itself does not ask: there
// every feature is tried out with whatever wazero it has. Where a feature does not work with
// one of the two, its row in the table lists the other alone.
var both = []string{"v1.12.0", "v1.11.0"}

var table = [features]feature{
	Stacks:        {"stacks", "stacks grow with the depth of calls, during which nothing stops a guest", both, noStacks, probeStacks},
	StackSizes:    {"stack-sizes", "the stacks that are wazero's are let go whenever they are looked at", both, nil, probeStackSizes},
	Memories:      {"memories", "memories are wazero's, which moves them when they grow, and which are compared as a whole to put them back", both, nil, probeMemories},
	Shrinking:     {"shrinking", "an instance whose memory grew is replaced", both, nil, probeShrinking},
	Linking:       {"linking", "Extism's functions are calls of the host, and modules cannot be linked to each other", both, nil, probeLinking},
	TrapTexts:     {"trap-texts", "an instance is closed after a trap", both, nil, probeTrapTexts},
	OpenFiles:     {"open-files", "an instance that called a function that may change its descriptors is replaced", both, nil, probeDescriptors},
	Mounts:        {"mounts", "grants of files are refused", both, nil, probeMounts},
	TailCalls:     {"tail-calls", "modules with tail calls are refused", both, nil, probeTailCalls},
	ExtendedConst: {"extended-const", "modules with extended constant expressions are refused", both[:1], noExtendedConst, probeExtendedConst},
	CodeFiles:     {"code-files", "machine code is not kept: modules are compiled by each process", both, nil, nil},
	Shells:        {"shells", "modules whose machine code is kept are decoded and metered by each process", both, nil, nil},
}

// String is the name of the feature.
func (f Feature) String() string { return table[f].name }

// Without says what the host does where the feature is off.
func (f Feature) Without() string { return table[f].without }

// looked is what was found, by whether guests are interpreted.
var looked [2]struct {
	once   sync.Once
	states States
}

// Look says which features are on with one of the engines. It tries them out when it is
// called for the first time in a process.
func Look(interpreted bool) States {
	l := &looked[0]
	if interpreted {
		l = &looked[1]
	}
	l.once.Do(func() { l.states = look(interpreted, version()) })
	states := l.states
	failed.Range(func(f, why any) bool {
		states[f.(Feature)] = State{Feature: f.(Feature), Why: why.(string), Unexpected: true}
		return true
	})
	states.Off("")
	return states
}

// failed says why features are off that were tried out by their use.
var failed sync.Map

// Failed notes that the use of a feature showed that it does not work. It is off for those
// who look from then on.
func Failed(f Feature, why string) { failed.Store(f, why) }

// look tries out all features that were tested with a version of wazero.
func look(interpreted bool, version string) (states States) {
	lab, err := newLab(context.Background(), interpreted)
	if err == nil {
		defer lab.close()
	}
	for f, is := range table {
		states[f] = is.state(interpreted, version, lab, err)
		states[f].Feature = Feature(f)
	}
	states.Off("")
	return states
}

// state tries a feature out in a lab, unless there is none, which err says.
func (f *feature) state(interpreted bool, version string, lab *lab, err error) State {
	if f.missing != nil {
		if why := f.missing(interpreted); why != "" {
			return State{Why: why}
		}
	}
	if version != inTest && !slices.Contains(f.tested, version) {
		return State{Why: untested(version, f.tested), Unexpected: true}
	}
	if f.probe == nil {
		return State{On: true}
	}
	if err == nil {
		err = f.try(lab)
	}
	if err != nil {
		return State{Why: "probe failed: " + strings.SplitN(err.Error(), "\n", 2)[0], Unexpected: true}
	}
	return State{On: true}
}

// try runs the probe of a feature.
func (f *feature) try(lab *lab) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panics: %v", r)
		}
	}()
	return f.probe(lab)
}

// untested says which versions of wazero would do.
func untested(version string, tested []string) string {
	version = cmp.Or(version, "a wazero whose version the program does not say")
	return fmt.Sprintf("not tested with %s (tested with %s)", version, strings.Join(tested, " and "))
}
