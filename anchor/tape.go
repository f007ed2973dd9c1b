package anchor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/tape"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// RecordingFile is the name of the file of a recording.
const RecordingFile = tape.FileName

// Recording is everything that went into a build, and what came out. It has the texts, and no
// secrets but those that the request states.
type Recording struct{ r *tape.Recording }

// NewTape returns a tape that records the build of an App.
func NewTape() *Tape { return newTape(tape.Record(), nil) }

// ReadRecording reads the recording of a folder.
func ReadRecording(dir string) (*Recording, error) {
	r, err := tape.Read(dir)
	if err != nil {
		return nil, err
	}
	return &Recording{r}, nil
}

// Write writes the recording into a folder, which it makes, under the name build.recording.
func (r *Recording) Write(dir string) error { return r.r.Write(dir) }

// Notes say what a repetition cannot repeat.
func (r *Recording) Notes() []string { return r.r.Notes }

// Tape returns a tape that tells a build what the recorded one was told.
func (r *Recording) Tape() *Tape { return newTape(tape.Play(r.r.Answers, r.r.HTTP), r.r) }

func newTape(t *tape.Tape, from *tape.Recording) *Tape {
	return &Tape{t: t, from: from, marks: tape.Marks{Hide: t.Hide}}
}

// tape returns what the tape has, nil for no tape.
func (t *Tape) tape() *tape.Tape {
	if t == nil {
		return nil
	}
	return t.t
}

// maxReadings bounds the readings of the clock that are kept.
const maxReadings = 100_000

// now is the clock of the build. A repeated build reads what the recorded one has read.
func (t *Tape) now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.from != nil {
		at := min(t.reading, len(t.from.Clock)-1)
		t.reading++
		if at < 0 {
			return t.from.Began
		}
		return t.from.Began.Add(t.from.Clock[at])
	}
	if t.began.IsZero() {
		t.since = time.Now()
		t.began = t.since.UTC().Round(0)
	}
	passed := time.Since(t.since)
	if len(t.clock) < maxReadings {
		t.clock = append(t.clock, passed)
	}
	return t.began.Add(passed)
}

// onRecord returns what receives the calls of plugins. With a tape, their clocks and random numbers
// are fixed in any case.
func (o *Options) onRecord() func(record.Call) {
	if o.Tape == nil {
		return o.OnRecord
	}
	return func(c record.Call) {
		o.Tape.t.Hear(c)
		if o.OnRecord != nil {
			o.OnRecord(c)
		}
	}
}

// RecordBuild is [App.Build], or [App.BuildRequest] if document is not nil, with a recording of it.
// [Options.Tape] must be a new tape. Options that are Go code, and a previous prompt, cannot be
// recorded. If the build fails, there is a recording beside its error.
func (a *App) RecordBuild(ctx context.Context, q pipeline.Query, document []byte, o BuildOptions) (*Recording, *pipeline.Result, error) {
	t := a.options.Tape
	if t == nil || t.from != nil {
		return nil, nil, fmt.Errorf("%w: record a build: the App has no tape to record with", ErrInvalid)
	}
	if o.Formatter != nil || o.Previous != nil {
		return nil, nil, fmt.Errorf("%w: record a build: a formatter in Go and a previous prompt cannot be recorded", ErrInvalid)
	}
	out := &tape.Recording{Document: document}
	kept := o
	kept.Callbacks, kept.ID, kept.Remember = nil, "", false
	var err error
	if out.Query, err = json.Marshal(q); err != nil {
		return nil, nil, fmt.Errorf("record a build: %w", err)
	}
	if out.Options, err = json.Marshal(kept); err != nil {
		return nil, nil, fmt.Errorf("record a build: %w", err)
	}
	if o.Remember {
		out.Notes = append(out.Notes, "the query was remembered, which a replay does not do")
	}
	result, failed := a.taped(ctx, q, document, o, out)
	if out.Result == nil {
		return nil, result, failed
	}
	if out.Answers, out.HTTP, err = t.t.Kept(); err != nil {
		return nil, result, errors.Join(failed, fmt.Errorf("record a build: %w", err))
	}
	out.Notes = append(out.Notes, tape.Secrets(out.HTTP)...)
	return &Recording{out}, result, failed
}

// taped builds, and notes what came out.
func (a *App) taped(ctx context.Context, q pipeline.Query, document []byte, o BuildOptions, out *tape.Recording) (*pipeline.Result, error) {
	t := a.options.Tape
	o.Callbacks = append(o.Callbacks[:len(o.Callbacks):len(o.Callbacks)], t.marks.Callback())
	var result *pipeline.Result
	var failed error
	if document != nil {
		result, failed = a.BuildRequest(ctx, "the request", bytes.NewReader(document), o)
	} else {
		result, failed = a.Build(ctx, q, o)
	}
	if result == nil && pipeline.DiagnosticsOf(nil, failed) == nil {
		return nil, failed // it did not begin
	}
	g, err := a.newest()
	if err != nil {
		return result, errors.Join(failed, err)
	}
	defer g.Release()
	out.Program, out.Platform, out.Clock = programVersion(), runtime.GOOS+"/"+runtime.GOARCH, t.readings()
	out.Began = t.began
	out.NoFile = g.Loaded.Location() == ""
	out.Settings, out.Modules, out.Steps = tape.SettingsOf(g.Loaded), g.Modules(), t.marks.Steps()
	timeless, err := tape.Timeless(result, failed)
	if err != nil {
		return result, errors.Join(failed, err)
	}
	out.Result = json.RawMessage(t.t.Hide(string(timeless)))
	return result, failed
}

// programVersion is the version of the module that the program was built from.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path + " " + info.Main.Version
	}
	return "unknown"
}

// readings are the readings of the clock so far.
func (t *Tape) readings() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock
}

// Replay repeats a recorded build with the plugins and the configuration of this App, which must
// have the tape of the recording in [Options.Tape]. It returns how the repetition differs, the cause
// first; nothing if both are the same, but for times. asked is what was asked and is not in the
// recording.
func (a *App) Replay(ctx context.Context, r *Recording) (differences []explain.Difference, asked []string, err error) {
	t := a.options.Tape
	if t == nil || t.from != r.r {
		return nil, nil, fmt.Errorf("%w: replay: the App has another tape", ErrInvalid)
	}
	var q pipeline.Query
	var o BuildOptions
	if r.r.Query != nil {
		if err := json.Unmarshal(r.r.Query, &q); err != nil {
			return nil, nil, fmt.Errorf("%w: replay: read the query: %w", ErrInvalid, err)
		}
	}
	if r.r.Options != nil {
		if err := json.Unmarshal(r.r.Options, &o); err != nil {
			return nil, nil, fmt.Errorf("%w: replay: read the options: %w", ErrInvalid, err)
		}
	}
	if string(o.Tools) == "null" {
		o.Tools = nil
	}
	again := &tape.Recording{}
	if _, failed := a.taped(ctx, q, r.r.Document, o, again); again.Result == nil {
		return nil, t.t.Unknown(), failed
	}
	return r.r.Compare(again), t.t.Unknown(), nil
}

// HasFile reports whether the recorded build had a configuration file.
func (r *Recording) HasFile() bool { return !r.r.NoFile }

// Given are the settings of the recorded build that came from flags and from the environment, by
// path. They are for [Options.Overrides].
func (r *Recording) Given() map[string]string {
	out := map[string]string{}
	for _, s := range r.r.Settings {
		if s.Given {
			out[s.Path] = s.Value
		}
	}
	return out
}
