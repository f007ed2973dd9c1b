package wazerox

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/anchor-host/anchor-host/host/internal/linear"
)

// Memory is a linear memory that is not wazero's.
type Memory = experimental.LinearMemory

// WithMemory returns a context under which InstantiateModule takes the memory of the module
// from m.
func WithMemory(ctx context.Context, m Memory) context.Context {
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return m }))
}

// MemoryOf is the memory of a module, nil where it has none: wazero's is a nil pointer then.
func MemoryOf(mod api.Module) api.Memory {
	if mem := mod.Memory(); mem != nil && !reflect.ValueOf(mem).IsNil() {
		return mem
	}
	return nil
}

// Shrink makes a memory as small as size bytes, whole pages and at least one,
// and reports whether it did. What lies beyond must be zero: the memory may grow
// again. The memory must come from WithMemory.
//
// wazero has no way to do this. Its memory is a struct with an exported field
// Buffer; when that is one page shorter than wanted, growing by one page makes
// wazero ask the allocator for the wanted size and tell its engine of the result.
func Shrink(mem api.Memory, size uint32) (done bool) {
	if size < linear.PageSize || size%linear.PageSize != 0 || size > mem.Size() {
		return false
	}
	if size == mem.Size() {
		return true
	}
	defer func() {
		if recover() != nil {
			done = false
		}
	}()
	reflect.ValueOf(mem).Elem().FieldByName("Buffer").SetLen(int(size - linear.PageSize))
	_, ok := mem.Grow(1)
	return ok && mem.Size() == size
}

// watchedMemory notes what wazero asks of a memory.
type watchedMemory struct {
	*linear.Memory
	asked []uint64
	freed bool
}

func (m *watchedMemory) Reallocate(size uint64) []byte {
	m.asked = append(m.asked, size)
	return m.Memory.Reallocate(size)
}

func (m *watchedMemory) Free() {
	m.freed = true
	m.Memory.Free()
}

// refusedGrowth is what memory.grow returns where there is no room.
const refusedGrowth = 1<<32 - 1

// withMemory makes an instance of the probe on a memory of at most so many pages, whose
// functions it looks up.
func (l *lab) withMemory(pages uint64) (*watchedMemory, api.Module, func(name string, want uint64, args ...uint64) error, error) {
	m := &watchedMemory{Memory: linear.New(pages*linear.PageSize, func(int64) bool { return true })}
	mod, err := l.guest(WithMemory(l.ctx, m))
	if err != nil {
		m.Free()
		return nil, nil, nil, err
	}
	return m, mod, func(name string, want uint64, args ...uint64) error {
		return check(l.ctx, mod.ExportedFunction(name), want, args...)
	}, nil
}

// probeMemories tries out whether a guest uses a memory of the host's: it must begin with
// it, grow with it, be refused what the memory refuses, and free it once it is closed.
func probeMemories(l *lab) error {
	m, mod, returns, err := l.withMemory(2)
	if err != nil {
		return err
	}
	defer m.Memory.Free()
	err = errors.Join(returns("size", 1), returns("calls", shallow+4, shallow), returns("grow", refusedGrowth, 1), returns("size", 2))
	b, ok := mod.Memory().Read(0, 2*linear.PageSize)
	if err == nil && (!ok || &b[0] != &m.Memory.Reallocate(2 * linear.PageSize)[0]) {
		err = errors.New("a guest has another memory")
	}
	if err = errors.Join(err, mod.Close(l.ctx)); err == nil && !m.freed {
		err = errors.New("a memory is not freed")
	}
	return err
}

// probeShrinking tries out whether Shrink works: compiled code must see the smaller size,
// must not reach beyond it, and must find zeros there when the memory grows again.
func probeShrinking(l *lab) error {
	m, mod, returns, err := l.withMemory(4)
	if err != nil {
		return err
	}
	defer m.Memory.Free()
	defer mod.Close(l.ctx)
	mem := mod.Memory()
	const far = 2 * linear.PageSize
	if err := errors.Join(returns("grow", 1, 2), returns("host", 6, 3)); err != nil {
		return err
	}
	if !mem.WriteByte(far, 7) {
		return errors.New("a memory that grew cannot be written to")
	}
	err = returns("load", 7, far)
	mem.WriteByte(far, 0)
	if err != nil || !Shrink(mem, linear.PageSize) {
		return fmt.Errorf("a memory cannot be made smaller: %w", errors.Join(err, fmt.Errorf("it has %d bytes", mem.Size())))
	}
	if err := errors.Join(returns("size", 1), returns("host", 2, 1)); err != nil {
		return err
	}
	if returns("load", 0, linear.PageSize) == nil {
		return errors.New("a guest reaches beyond a memory that was made smaller")
	}
	return errors.Join(returns("calls", shallow+4, shallow), returns("grow", 2, 1), returns("load", 0, far), returns("host", 6, 3))
}
