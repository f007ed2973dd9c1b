package host

import (
	"context"
	"log/slog"

	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// off are the features that are switched off.
func (f Features) off() (off []wazerox.Feature) {
	for _, s := range []struct {
		off     bool
		feature wazerox.Feature
	}{
		{f.NoStacks, wazerox.Stacks}, {f.NoStackSizes, wazerox.StackSizes},
		{f.NoMemories, wazerox.Memories}, {f.NoShrinking, wazerox.Shrinking},
		{f.NoLinking, wazerox.Linking}, {f.NoTrapTexts, wazerox.TrapTexts},
		{f.NoOpenFiles, wazerox.OpenFiles}, {f.NoMounts, wazerox.Mounts},
		{f.NoTailCalls, wazerox.TailCalls}, {f.NoExtendedConst, wazerox.ExtendedConst},
		{f.NoCodeFiles, wazerox.CodeFiles}, {f.NoShells, wazerox.Shells},
	} {
		if s.off {
			off = append(off, s.feature)
		}
	}
	return off
}

// portable are the features that Config.Portable switches off: all but the mounts of
// granted folders, the flags of the decoder and the files of machine code.
var portable = Features{NoStacks: true, NoStackSizes: true, NoMemories: true, NoShrinking: true, NoLinking: true, NoTrapTexts: true, NoOpenFiles: true, NoShells: true}

// Feature is one thing that the host takes from wazero without a promise of wazero's.
type Feature struct {
	// Name names it; it stands with each field of [Features].
	Name string
	// On says that it is used.
	On bool
	// Why says why it is not, and Without what the host does instead. Both are empty
	// where it is used.
	Why, Without string
	// Unexpected says that it is off though nobody switched it off and the system has
	// what it needs: the wazero in the program is another one than it was tested with.
	Unexpected bool
}

// Features says what the host takes from wazero without a promise of wazero's, for plugins
// whose configuration states no engine. What was not tried out yet is tried out.
func (h *Host) Features() []Feature {
	var all []Feature
	for _, s := range h.cfg.featuresOf(h.engineKind(EngineAuto)) {
		f := Feature{Name: s.Feature.String(), On: s.On, Why: s.Why, Unexpected: s.Unexpected}
		if !s.On {
			f.Without = s.Feature.Without()
		}
		all = append(all, f)
	}
	return all
}

// featuresOf are the features of an engine of the host.
func (c *Config) featuresOf(engine Engine) wazerox.States {
	states := wazerox.Look(engine == EngineInterpreter)
	if c.Portable {
		states.Off("Config.Portable", portable.off()...)
	}
	states.Off("switched off by Config.Features", c.Features.off()...)
	return states
}

// logFeatures says what the host does without though nobody asked it to.
func logFeatures(log *slog.Logger, states wazerox.States) {
	for _, s := range states {
		logFeature(log, s)
	}
}

func logFeature(log *slog.Logger, s wazerox.State) {
	if s.Unexpected {
		log.Warn("does without a part of wazero", "feature", s.Feature, "why", s.Why, "instead", s.Feature.Without())
	}
}

// Strategy finds out by trying how the host keeps instances clean on this system, and says it
// in one line. quick is false where memories move when they grow or cannot shrink, so that a
// reset takes longer. It makes an engine and closes it; errors are those of that.
func (h *Host) Strategy(ctx context.Context) (line string, quick bool, err error) {
	e, err := compile.NewEngine(ctx, h.cfg.compileOptions(nil), h.engineKind(EngineAuto) == EngineInterpreter)
	if err != nil {
		return "", false, err
	}
	s := e.Strategy(ctx)
	return s.String(), s.Quick(), e.Close(ctx)
}
