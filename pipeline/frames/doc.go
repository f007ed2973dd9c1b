// Package frames keeps what an agent did and found as frames: small summaries that
// outlive the conversation they come from.
//
//	p, err := frames.New(ctx, frames.Actor{Kind: frames.Agent, ID: "planner"},
//		frames.Config{Limits: frames.Limits{MaxFrames: 50}})
//	if err != nil {
//		return err
//	}
//	id, err := p.Push(ctx, frames.Frame{Kind: frames.StepSummary, Summary: "auth module split in two"})
//
// # Log and window
//
// A [Pipeline] is an append-only log with a window over it. Every push gets the next id and
// stays in the [Log]; when the window holds too many frames or tokens, it evicts the oldest
// frames that are not protected. The content of the window follows from the log alone, so
// [Restore] can rebuild it from the log. The id of a frame never changes and is never
// assigned twice. Positions exist only in documents.
//
// # Documents
//
// [Document], [Plan] and [Intent] are the stored forms. Their JSON is that of git-internal
// 0.6.0. Links point one way: an intent names its plan, a plan its pipeline, a step the
// frames it consumed and produced. Frames have no links. A [Snapshot] records what the
// window held at one moment of a run.
//
// # Into a context
//
// [FrameMemory] offers the window to a build as memory, and to an agent loop as
// observations.
package frames
