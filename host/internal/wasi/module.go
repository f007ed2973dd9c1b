package wasi

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Module is the name of the module from which guests import the functions.
const Module = wazerox.WASIModule

// Costs in fuel. A unit is about a nanosecond of the host.
const (
	// costSystem is for a system call of the host.
	costSystem = 2_000
	// costPathByte is for a byte of a path: each element of a path may take a system call.
	costPathByte = 500
	// costVector is for an element of a scattered read or write.
	costVector = 64
	// costEntryByte is for a byte of a listing of a directory.
	costEntryByte = 16
)

const (
	// maxVectors is the most elements of a scattered read or write, and the most events to
	// wait for: IOV_MAX of Linux.
	maxVectors = 1024
	// maxListing bounds the buffer for a listing of a directory. Such a buffer must not be
	// shortened, because a buffer that is not full means the end of the directory.
	maxListing = 1 << 20
	// maxPath is PATH_MAX of Linux.
	maxPath = 4096
	// maxDescriptor is the highest descriptor that a file can be moved to. wazero's table has
	// a slot for every descriptor up to the highest.
	maxDescriptor = 4 * mounts.MaxOpen
	// randomChunk is how many random bytes are made between two checks of the call's time and
	// fuel.
	randomChunk = 32 << 10
)

// Error numbers of WASI preview 1.
const (
	badDescriptor mounts.Errno = 8
	badAddress    mounts.Errno = 21
	invalid       mounts.Errno = 28
	nameTooLong   mounts.Errno = 37
)

// admission decides on a call of a function before it runs. It returns the cost of the call in
// fuel, and an error number other than mounts.OK if the call is refused. It may lower sizes in
// the arguments s.
type admission func(mod api.Module, s []uint64) (int64, mounts.Errno)

// admissions are the admissions of the functions that need one.
var admissions = map[string]admission{
	"fd_read": admitVectors, "fd_pread": admitVectors, "fd_write": admitVectors, "fd_pwrite": admitVectors,
	"sock_recv": admitVectors, "sock_send": admitVectors,
	"fd_renumber": admitRenumber, "poll_oneoff": admitPoll,

	"path_create_directory": admitPaths(2), "path_filestat_get": admitPaths(3), "path_filestat_set_times": admitPaths(3),
	"path_link": admitPaths(3, 6), "path_open": admitPaths(3), "path_readlink": admitPaths(2),
	"path_remove_directory": admitPaths(2), "path_rename": admitPaths(2, 5), "path_symlink": admitPaths(1, 4),
	"path_unlink_file": admitPaths(2),
}

// constant are the functions that take constant time and make no system call, except to
// read the clock. They are not wrapped.
var constant = map[string]bool{
	"args_get": true, "args_sizes_get": true, "environ_get": true, "environ_sizes_get": true,
	"clock_res_get": true, "clock_time_get": true, "sched_yield": true, "proc_exit": true, "proc_raise": true,
	"fd_prestat_get": true, "fd_prestat_dir_name": true,
}

// Offer puts the functions into an engine. of returns the state of the guest in whose call a
// function runs, from the context that the function gets.
func Offer(ctx context.Context, rt wazero.Runtime, of func(context.Context) *State) error {
	b := rt.NewHostModuleBuilder(Module)
	for name, def := range wazerox.WASIFunctions() {
		fn, err := wazerox.GoFunction(def)
		if err != nil {
			return err
		}
		b.NewFunctionBuilder().WithGoModuleFunction(guard(name, fn, of), def.ParamTypes(), def.ResultTypes()).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// guard wraps a function of wazero for guests.
func guard(name string, fn api.GoModuleFunction, of func(context.Context) *State) api.GoModuleFunction {
	switch {
	case constant[name]:
		return fn
	case name == "random_get":
		return randomGet(fn, of)
	case name == "fd_readdir":
		return listDirectory(fn, of)
	}
	admit, touches := admissions[name], ChangesDescriptors(name)
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, s []uint64) {
		state, cost, errno := of(ctx), int64(costSystem), mounts.OK
		if touches {
			state.watched.touch()
		}
		if admit != nil {
			cost, errno = admit(mod, s)
		}
		state.call.Spend(cost)
		if errno != mounts.OK {
			s[0] = uint64(errno)
			return
		}
		state.system(ctx, fn, mod, s)
	})
}

// system calls a function. If the guest has mounts, the function may access a file and so
// wait for a disk or a network.
func (s *State) system(ctx context.Context, fn api.GoModuleFunction, mod api.Module, stack []uint64) {
	if s.options.Mounts.Len() == 0 {
		fn.Call(ctx, mod, stack)
		s.call.Stop()
		return
	}
	s.call.Leave()
	fn.Call(ctx, mod, stack)
	// A mount may have refused the request for a reason that wazero cannot express.
	if errno := s.files.TakeErrno(); errno != mounts.OK && stack[0] != uint64(mounts.OK) {
		stack[0] = uint64(errno)
	}
	s.call.Rejoin()
}

// randomGet fills the buffer in chunks.
func randomGet(fn api.GoModuleFunction, of func(context.Context) *State) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, s []uint64) {
		call, addr, n := of(ctx).call, uint32(s[0]), uint32(s[1])
		if _, ok := mod.Memory().Read(addr, n); !ok {
			s[0] = uint64(badAddress)
			return
		}
		for {
			part := min(n, randomChunk)
			call.Spend(int64(part))
			s[0], s[1] = uint64(addr), uint64(part)
			fn.Call(ctx, mod, s)
			addr, n = addr+part, n-part
			if n == 0 || s[0] != uint64(mounts.OK) {
				return
			}
		}
	}
}

// listDirectory bounds the buffer and charges for the bytes that were written to it.
func listDirectory(fn api.GoModuleFunction, of func(context.Context) *State) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, s []uint64) {
		state, used := of(ctx), uint32(s[4])
		state.watched.touch()
		state.call.Spend(costSystem)
		if uint32(s[2]) > maxListing {
			s[0] = uint64(invalid)
			return
		}
		state.system(ctx, fn, mod, s)
		if n, ok := mod.Memory().ReadUint32Le(used); ok && s[0] == uint64(mounts.OK) {
			state.call.Spend(int64(n) * costEntryByte)
		}
		state.call.Stop()
	}
}

// admitVectors bounds a scattered read or write. s is the descriptor, the address of the
// vectors and their number. Vectors beyond mounts.MaxTransfer bytes are left for the guest's next
// call. If the first one alone is larger, the file transfers a part of it.
func admitVectors(mod api.Module, s []uint64) (int64, mounts.Errno) {
	n := uint32(s[2])
	if n > maxVectors {
		return costSystem, invalid
	}
	b, ok := mod.Memory().Read(uint32(s[1]), n*8)
	if !ok {
		return costSystem, badAddress
	}
	total, count := int64(0), uint32(0)
	for ; count < n; count++ {
		size := int64(binary.LittleEndian.Uint32(b[count*8+4:]))
		if total > 0 && total+size > mounts.MaxTransfer {
			break
		}
		total += size
	}
	s[2] = uint64(count)
	return costSystem + int64(count)*costVector + min(total, mounts.MaxTransfer), mounts.OK
}

// admitRenumber bounds the new descriptor of fd_renumber.
func admitRenumber(_ api.Module, s []uint64) (int64, mounts.Errno) {
	if uint32(s[1]) > maxDescriptor {
		return costSystem, badDescriptor
	}
	return costSystem, mounts.OK
}

// admitPoll bounds the events of poll_oneoff.
func admitPoll(_ api.Module, s []uint64) (int64, mounts.Errno) {
	n := uint32(s[2])
	if n > maxVectors {
		return costSystem, invalid
	}
	return costSystem + int64(n)*costVector, mounts.OK
}

// admitPaths bounds the paths whose lengths are the arguments with the numbers at.
func admitPaths(at ...int) admission {
	return func(_ api.Module, s []uint64) (int64, mounts.Errno) {
		cost, errno := int64(costSystem), mounts.OK
		for _, i := range at {
			n := uint32(s[i])
			if n > maxPath {
				errno = nameTooLong
			}
			cost += costPathByte * int64(min(n, maxPath))
		}
		return cost, errno
	}
}
