package anchor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// AssembleOptions override the configuration for one assembly. A field with its zero value
// overrides nothing.
type AssembleOptions struct {
	// Run names an agent run whose state is kept in the store. The messages are then those since
	// its last assembly, and the frames of the run become observations. Empty: the messages are
	// the whole list.
	Run string
	// State replaces the stored state of the run. Without a run it is the state of this assembly.
	// It is not modified. It may be nil. The state of another run is refused.
	State *agent.State
	// Tenant owns the run. Empty: the tenant of the configuration.
	Tenant string
	// User is the user that the run belongs to, from the first assembly that names one. The run of
	// another user is refused.
	User string
	// Timeout bounds the duration of the assembly.
	Timeout time.Duration
	// MaxTokens and MaxMessages bound the messages for the model.
	MaxTokens, MaxMessages int
	// Phase is the purpose of the messages: agent.PhaseLLM for a call of the loop, or
	// agent.PhaseSynthesize for the final answer.
	Phase agent.Phase

	ofBody
}

// Assembled is the result of an assembly.
type Assembled struct {
	// Assembly has the messages for the model, and diagnostics about each provider.
	*agent.Assembly
	// State is the state for the next assembly. If Run was set, it is already stored.
	State *agent.State
	// Refused is empty, or says which of the given messages the API of their form refuses: the
	// first one, by index and member. The diagnostics warn of it. Messages whose form is not
	// known are not checked.
	Refused string
}

// Assemble runs the provider chain over the messages of an agent, to prepare them for a model
// call. If the state cannot be saved after the chain has run, Assemble returns both the result
// and the error.
func (a *App) Assemble(ctx context.Context, messages []pipeline.Message, o AssembleOptions) (*Assembled, error) {
	g, err := a.use(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	r := &agentRun{AssembleOptions: o, config: g.Loaded.Config, messages: messages}
	if err := r.apply(); err != nil {
		return nil, err
	}
	return observed(observe.WithOwner(ctx, observe.Owner{User: o.User, Run: o.Run}), g, &r.config, observe.Work{Kind: observe.Assembly}, endedAssembly, func(ctx context.Context) (*Assembled, error) { return a.carryOutRun(ctx, g, r) })
}

// carryOutRun assembles the messages. It loads and saves the state of the run that the options name.
func (a *App) carryOutRun(ctx context.Context, g *assemble.Generation, r *agentRun) (_ *Assembled, err error) {
	if r.Run != "" {
		if err := config.CheckName(r.Run); err != nil {
			return nil, fmt.Errorf("%w: run: %w", ErrInvalid, err)
		}
		s, err := a.openStore(ctx, g.Loaded)
		if err != nil {
			return nil, err
		}
		r.stored = &agentstore.Run{Store: s, Tenant: r.config.TenantName(), ID: r.Run}
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if r.agent, err = g.Agent(ctx); err != nil {
		return nil, err
	}
	if r.agent, err = r.agent.For(r.model); err != nil {
		return nil, err
	}
	return r.assemble(ctx)
}

// agentRun holds the inputs and the state of one assembly.
type agentRun struct {
	AssembleOptions
	config   config.Config
	messages []pipeline.Message
	agent    *assemble.Agent
	// stored is the run in the store. It is nil if the state is not stored.
	stored *agentstore.Run
	state  *agent.State
	frames *frames.Pipeline
}

// apply enters the options.
func (r *agentRun) apply() error {
	c := &r.config
	if err := cmp.Or(c.Set("tenant", r.Tenant), config.CheckOwner(r.User, "")); err != nil {
		return err
	}
	for _, v := range []struct {
		key   string
		given int64
	}{{"timeout", int64(r.Timeout)}, {"agent.max_tokens", int64(r.MaxTokens)}, {"agent.max_messages", int64(r.MaxMessages)}} {
		if v.given < 0 {
			return fmt.Errorf("%w: %s: want 1 or more, got %d", ErrInvalid, v.key, v.given)
		}
	}
	c.Timeout = cmp.Or(config.Duration(r.Timeout), c.Timeout)
	c.Agent.MaxTokens, c.Agent.MaxMessages = cmp.Or(r.MaxTokens, c.Agent.MaxTokens), cmp.Or(r.MaxMessages, c.Agent.MaxMessages)
	switch r.Phase {
	case "", agent.PhaseLLM, agent.PhaseSynthesize:
		return nil
	}
	return fmt.Errorf("%w: phase: want llm or synthesize, got %.100q", ErrInvalid, r.Phase)
}

// budget returns the budget of the configuration, for the purpose that the options state.
func (r *agentRun) budget() agent.Budget {
	b := assemble.Budget(&r.config)
	b.Phase = cmp.Or(r.Phase, b.Phase)
	return b
}

// assemblies is the maximum number of attempts of an assembly while others continue the same run.
// An attempt fails only if another one succeeded, so the run always progresses.
const assemblies = 100

// assemble runs the chain and stores the state. If others continue the same run meanwhile, it begins again.
func (r *agentRun) assemble(ctx context.Context) (*Assembled, error) {
	for try := 1; ; try++ {
		cuts, refusal := map[string]string{}, r.refusal()
		result, err := r.once(ctx, cuts)
		if result == nil {
			return nil, err
		}
		if err == nil && r.stored != nil {
			err = r.save(ctx)
			if errors.Is(err, agentstore.ErrContinued) && try < assemblies {
				if err = r.prepare(ctx); err == nil {
					continue
				}
			}
		}
		if err == nil && r.stored != nil {
			r.note(ctx, result, cuts)
		}
		if refusal != "" {
			result.Diagnostics.Warnings = append(result.Diagnostics.Warnings, refusal)
		}
		return &Assembled{Assembly: result, State: r.state, Refused: refusal}, err
	}
}

// once runs the chain. The texts of what it cuts are added to cuts if the run is stored. The result is nil if there
// is no chain, or if the configuration refuses an answer that lacks something.
func (r *agentRun) once(ctx context.Context, cuts map[string]string) (*agent.Assembly, error) {
	var keep func(handle, text string)
	if r.stored != nil {
		keep = func(handle, text string) { cuts[handle] = text }
	}
	chain, err := r.agent.Chain(r.config.TenantName(), r.frames, keep)
	if err != nil {
		return nil, err
	}
	result, err := chain.Assemble(ctx, r.state, r.list(), r.budget(), r.tools...)
	if errors.Is(err, pipeline.ErrInvalid) {
		err = errkind.As(ErrInvalid, err)
	}
	if err != nil {
		return result, err
	}
	if list := result.Diagnostics.Degraded(); r.config.Builds.Strict && len(list) > 0 {
		return nil, &core.DegradedError{List: list}
	}
	if r.written != nil {
		if messages := r.written(result.Messages); messages != nil {
			chain.Restate(ctx, result.Diagnostics, r.budget(), messages)
		}
	}
	return result, nil
}

// save stores the state of the run. The user claims it again: it may have been deleted meanwhile, with its owner.
func (r *agentRun) save(ctx context.Context) error {
	if err := r.claim(ctx); err != nil {
		return err
	}
	return r.stored.Save(ctx, r.state)
}

// note keeps the texts of what was cut, and which frames were read. The state is stored, and an error would make the
// caller assemble the same messages again, so a failure is a warning.
func (r *agentRun) note(ctx context.Context, result *agent.Assembly, cuts map[string]string) {
	warn := func(line string) { result.Diagnostics.Warnings = append(result.Diagnostics.Warnings, line) }
	if err := r.stored.KeepCuts(ctx, cuts); err != nil {
		warn("the text of a cut result is not stored: " + observe.Text(ctx, err))
	}
	run := agentrun.New(r.stored.Store, r.stored.Tenant, r.stored.ID, nil, nil)
	if err := run.Read(ctx, frames.ObservedFrames(r.state.Observations)); err != nil {
		warn(agentrun.NotNoted(ctx, err))
	}
}

// refusal says which of the given messages the API of their form refuses. It is empty if there is
// none, or if the form is not known.
func (r *agentRun) refusal() string {
	list := r.list()
	of, err := "the API", message.HalfCharacter(list)
	ofNone := r.form == message.FormAny && !slices.ContainsFunc(list, func(m pipeline.Message) bool { return m.Form() != message.FormAny })
	if err == nil && !r.unchecked && !ofNone {
		form := cmp.Or(r.form, message.FormOf(list))
		of, err = fmt.Sprintf("the API (%s)", form), message.Check(list, form)
	}
	if err == nil {
		return ""
	}
	if r.inPlace != nil {
		err = r.inPlace(err)
	}
	return fmt.Sprintf("%s refuses the given messages: %v", of, err)
}

// prepare loads or copies the state for the assembly.
func (r *agentRun) prepare(ctx context.Context) (err error) {
	r.state = &agent.State{}
	if r.stored != nil {
		if err = r.claim(ctx); err != nil {
			return err
		}
		if r.state, err = r.stored.Load(ctx); err != nil {
			return err
		}
		if r.frames, err = r.stored.Frames(ctx, frames.Limits{}); err != nil {
			return err
		}
	}
	if r.State != nil {
		state := r.State.Clone() // another attempt needs the original
		r.state = &state
	}
	if r.stored != nil {
		if id := r.state.RunID; id != "" && id != r.stored.ID {
			return fmt.Errorf("%w: the state is that of run %.100q, not of run %q (leave out its run_id, or name that run)", ErrInvalid, id, r.stored.ID)
		}
		r.state.RunID = r.stored.ID
		if r.join != nil {
			return r.join(ctx, r.state)
		}
		r.state.Messages = append(r.state.Messages, r.messages...)
	} else if r.state.Messages == nil {
		r.state.Messages = message.CloneList(r.messages)
	}
	return nil
}

// claim lets the user have the stored run. Each attempt does so: the run may have been deleted, and begun
// anew by another user.
func (r *agentRun) claim(ctx context.Context) error {
	_, err := agentstore.Claim(ctx, r.stored.Store, r.stored.Tenant, agentstore.ARun, r.stored.ID, r.User)
	return owned(err)
}

// list returns the input messages of the chain.
func (r *agentRun) list() []pipeline.Message {
	if r.stored != nil || r.messages == nil {
		return r.state.Messages
	}
	return r.messages
}
