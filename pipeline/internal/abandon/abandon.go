// Package abandon calls code that may hang, leaves it behind when its time is up, and bounds
// how many such calls of one part keep running.
package abandon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// Most is how many abandoned calls of one part may still run. Further calls of the part fail
// at once. Calls that run at the same time can all be abandoned, so that there may be as many
// more as ran together.
const Most = 8

var (
	// ErrExited is the error of code that ended its goroutine.
	ErrExited = errors.New("called runtime.Goexit")
	// ErrBusy means that the part was not called, because [Most] of its calls still run
	// although their time was up.
	ErrBusy = errors.New("earlier calls were abandoned after their time limit and still run")
)

// left holds how many abandoned calls of each part still run. A part without such calls has
// no entry.
var left struct {
	sync.Mutex
	of map[any]int
}

// Call calls f in a goroutine of its own. If ctx ends first, Call abandons f and returns the
// error of ctx. f then goes on, so it must not use what the caller uses afterwards. part
// identifies the part that f belongs to; see [Most].
func Call[T any](ctx context.Context, part any, f func() (T, error)) (T, error) {
	var none T
	key := keyOf(part)
	if n := running(key); n >= Most {
		return none, fmt.Errorf("not called: %d %w (it must return when its context ends)", n, ErrBusy)
	}
	c := call[T]{done: make(chan struct{})}
	go func() {
		c.err = ErrExited
		defer c.end(key)
		c.value, c.err = f()
	}()
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		c.abandon(key)
		return none, ctx.Err()
	}
}

// call is one call of a part.
type call[T any] struct {
	value T
	err   error
	done  chan struct{}

	ended, abandoned bool // guarded by left
}

// end notes that f has returned.
func (c *call[T]) end(key any) {
	left.Lock()
	defer left.Unlock()
	c.ended = true
	if c.abandoned {
		if left.of[key]--; left.of[key] == 0 {
			delete(left.of, key)
		}
	}
	close(c.done)
}

// abandon notes that nobody waits for f any more.
func (c *call[T]) abandon(key any) {
	left.Lock()
	defer left.Unlock()
	if c.ended {
		return
	}
	c.abandoned = true
	if left.of == nil {
		left.of = make(map[any]int)
	}
	left.of[key]++
}

// running returns how many abandoned calls of a part still run.
func running(key any) int {
	left.Lock()
	defer left.Unlock()
	return left.of[key]
}

// code identifies a function by its code, or another value that cannot be compared by its
// type.
type code struct {
	of    reflect.Type
	entry uintptr
}

// keyOf returns what identifies a part. Functions cannot be compared, so functions of the same
// code count as one part.
func keyOf(part any) any {
	v := reflect.ValueOf(part)
	switch {
	case !v.IsValid():
		return code{}
	case v.Kind() == reflect.Func:
		return code{v.Type(), v.Pointer()}
	case v.Comparable():
		return part
	}
	return code{of: v.Type()}
}
