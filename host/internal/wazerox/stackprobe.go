package wazerox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero/api"
)

const (
	// tried is the size of the stack on which calls are tried out.
	tried = 128<<10 + margin
	// shallow and deep are depths of calls that fit onto it and that do not, with
	// frames of 16 to 500 bytes.
	shallow, deep = 200, 10_000
	// triedValues is the size of that of the interpreter, which has more than calls can need.
	triedValues = 1 << 20
)

// noStacks says why there are no stacks of a fixed size.
func noStacks(interpreted bool) string {
	if runtime.GOOS != "linux" || !interpreted && runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return "not on " + platform
	}
	return ""
}

// probeStacks tries out whether a stack can be lent: calls must use it, across the host
// and the growth of a memory, must end with a stack overflow where it ends, must reach
// nothing beyond, and must work after that and after a panic of the host as before.
func probeStacks(l *lab) error {
	ends, reserved := (*Stack).ends, func() (*Stack, error) { return reserve(tried, 0) }
	if l.interpreted {
		ends, reserved = (*Stack).stays, func() (*Stack, error) { return NewInterpreterStack(triedValues) }
	}
	s, err := reserved()
	if err != nil {
		return err
	}
	defer s.Free()
	mod, err := l.guest(l.ctx)
	if err != nil {
		return err
	}
	defer mod.Close(l.ctx)
	handles := map[string]api.Function{}
	for _, name := range []string{"deep", "calls", "host"} {
		handles[name] = mod.ExportedFunction(name)
		if !s.Lend(handles[name]) {
			return errors.New("a handle has other fields")
		}
	}
	for pages := uint64(2); pages <= 3; pages++ {
		if err := check(l.ctx, handles["deep"], shallow, shallow); err != nil {
			return err
		}
		if err := check(l.ctx, handles["calls"], shallow+2*pages, shallow); err != nil {
			return err
		}
		if err := ends(s, l.ctx, handles["deep"]); err != nil {
			return err
		}
		if _, err := handles["host"].Call(l.ctx, 0); !errors.Is(err, errStop) {
			return fmt.Errorf("a panic of the host becomes: %w", err)
		}
	}
	return nil
}

// ends reports whether a deep call of the probe ends with the stack.
func (s *Stack) ends(ctx context.Context, f api.Function) error {
	if _, err := f.Call(ctx, deep); !Overflowed(err) {
		return fmt.Errorf("a call that is too deep ends with: %w", err)
	}
	h, ok := placeOf(f)
	end := len(s.mem) - s.limit
	zero := make([]byte, margin)
	switch {
	case !ok || &(*h.stack)[0] != &s.mem[0] || *h.bottom != &s.mem[end]:
		return errors.New("the stack moved")
	case !bytes.Equal(s.mem[end-margin:end], zero):
		return errors.New("a call went beyond the end of the stack")
	case bytes.Equal(s.mem[end:end+margin/16], zero[:margin/16]):
		return errors.New("calls do not use the stack to its end")
	}
	return nil
}

// stays reports whether a deep call of the interpreter ends as it does without the stack, and used it.
func (s *Stack) stays(ctx context.Context, f api.Function) error {
	s.values[:1][0] = 1 << 63
	if _, err := f.Call(ctx, deep); !Overflowed(err) {
		return fmt.Errorf("a call that is too deep ends with: %w", err)
	}
	values, ok := valuesOf(f)
	switch {
	case !ok || len(*values) != 0 || cap(*values) != len(s.values) || &(*values)[:1][0] != &s.values[0]:
		return errors.New("the stack moved")
	case s.values[0] != deep:
		return errors.New("calls do not use the stack")
	}
	return nil
}

// platform is the system and the processor.
const platform = runtime.GOOS + "/" + runtime.GOARCH
