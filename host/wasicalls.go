package host

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// This file stands between guests and wazero's WASI functions. It charges fuel for what they
// do, refuses sizes that no honest guest needs, and ends calls whose time is over.

// Costs in fuel; see hostcall.go.
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
	// maxTransfer is the most bytes that one call reads from a file or writes to one. More is
	// done in part, as POSIX allows.
	maxTransfer = 1 << 20
	// maxListing bounds the buffer for a listing of a directory. Such a buffer must not be
	// shortened, because a buffer that is not full means the end of the directory.
	maxListing = 1 << 20
	// maxPath is PATH_MAX of Linux.
	maxPath = 4096
	// maxDescriptor is the highest descriptor that a file can be moved to. wazero's table has
	// a slot for every descriptor up to the highest.
	maxDescriptor = 4 * maxOpenFiles
	// randomChunk is how many random bytes are made between two checks of the call's time and
	// fuel.
	randomChunk = 32 << 10
)

// wasiErrno is an error number of WASI preview 1.
type wasiErrno uint64

const (
	wasiOK          wasiErrno = 0
	wasiBadf        wasiErrno = 8
	wasiDquot       wasiErrno = 19
	wasiFault       wasiErrno = 21
	wasiFbig        wasiErrno = 22
	wasiInval       wasiErrno = 28
	wasiMfile       wasiErrno = 33
	wasiNametoolong wasiErrno = 37
	wasiNfile       wasiErrno = 41
	wasiNospc       wasiErrno = 51
)

// admission decides on a call of a WASI function before it runs. It returns the cost of the
// call in fuel, and an error number other than wasiOK if the call is refused. It may lower
// sizes in the arguments s.
type admission func(mod api.Module, s []uint64) (int64, wasiErrno)

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

// instantWASI are the functions that take constant time and make no system call, except to
// read the clock. They are not wrapped.
var instantWASI = map[string]bool{
	"args_get": true, "args_sizes_get": true, "environ_get": true, "environ_sizes_get": true,
	"clock_res_get": true, "clock_time_get": true, "sched_yield": true, "proc_exit": true, "proc_raise": true,
	"fd_prestat_get": true, "fd_prestat_dir_name": true,
}

// offerWASI instantiates the WASI functions.
func offerWASI(ctx context.Context, rt wazero.Runtime) error {
	b := rt.NewHostModuleBuilder(wasiModule)
	for name, def := range wazerox.WASIFunctions() {
		fn, err := wazerox.GoFunction(def)
		if err != nil {
			return err
		}
		b.NewFunctionBuilder().WithGoModuleFunction(guardWASI(name, fn), def.ParamTypes(), def.ResultTypes()).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// guardWASI wraps a WASI function of wazero for guests.
func guardWASI(name string, fn api.GoModuleFunction) api.GoModuleFunction {
	switch {
	case instantWASI[name]:
		return fn
	case name == "random_get":
		return randomGet(fn)
	case name == "fd_readdir":
		return listDirectory(fn)
	}
	admit, touches := admissions[name], changesDescriptors(name)
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, s []uint64) {
		c, cost, errno := stateOf(ctx), int64(costSystem), wasiOK
		if touches {
			wasiOf(c).files.touch()
		}
		if admit != nil {
			cost, errno = admit(mod, s)
		}
		c.spend(cost)
		if errno != wasiOK {
			s[0] = uint64(errno)
			return
		}
		c.system(ctx, fn, mod, s)
	})
}

// system calls a WASI function. If the plugin has mounts, the function may access a file and
// so wait for a disk or a network.
func (c *callState) system(ctx context.Context, fn api.GoModuleFunction, mod api.Module, s []uint64) {
	w := wasiOf(c)
	if len(w.plugin.mounts) == 0 {
		fn.Call(ctx, mod, s)
		w.tellErrno(s)
		c.stop()
		return
	}
	c.leave()
	fn.Call(ctx, mod, s)
	w.tellErrno(s)
	c.rejoin()
}

// tellErrno sets the result of a WASI call to the error number of the mount that refused it,
// if wazero cannot express that error.
func (in *wasi) tellErrno(s []uint64) {
	if in.errno != wasiOK && s[0] != uint64(wasiOK) {
		s[0] = uint64(in.errno)
	}
	in.errno = wasiOK
}

// randomGet fills the buffer in chunks.
func randomGet(fn api.GoModuleFunction) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, s []uint64) {
		c, addr, n := stateOf(ctx), uint32(s[0]), uint32(s[1])
		if _, ok := mod.Memory().Read(addr, n); !ok {
			s[0] = uint64(wasiFault)
			return
		}
		for {
			part := min(n, randomChunk)
			c.spend(int64(part))
			s[0], s[1] = uint64(addr), uint64(part)
			fn.Call(ctx, mod, s)
			addr, n = addr+part, n-part
			if n == 0 || s[0] != uint64(wasiOK) {
				return
			}
		}
	}
}

// listDirectory bounds the buffer and charges for the bytes that were written to it.
func listDirectory(fn api.GoModuleFunction) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, s []uint64) {
		c, used := stateOf(ctx), uint32(s[4])
		wasiOf(c).files.touch()
		c.spend(costSystem)
		if uint32(s[2]) > maxListing {
			s[0] = uint64(wasiInval)
			return
		}
		c.system(ctx, fn, mod, s)
		if n, ok := mod.Memory().ReadUint32Le(used); ok && s[0] == uint64(wasiOK) {
			c.spend(int64(n) * costEntryByte)
		}
		c.stop()
	}
}

// admitVectors bounds a scattered read or write. s is the descriptor, the address of the
// vectors and their number. Vectors beyond maxTransfer bytes are left for the guest's next
// call. If the first one alone is larger, the file transfers a part of it.
func admitVectors(mod api.Module, s []uint64) (int64, wasiErrno) {
	n := uint32(s[2])
	if n > maxVectors {
		return costSystem, wasiInval
	}
	b, ok := mod.Memory().Read(uint32(s[1]), n*8)
	if !ok {
		return costSystem, wasiFault
	}
	total, count := int64(0), uint32(0)
	for ; count < n; count++ {
		size := int64(binary.LittleEndian.Uint32(b[count*8+4:]))
		if total > 0 && total+size > maxTransfer {
			break
		}
		total += size
	}
	s[2] = uint64(count)
	return costSystem + int64(count)*costVector + min(total, maxTransfer), wasiOK
}

// admitRenumber bounds the new descriptor of fd_renumber.
func admitRenumber(_ api.Module, s []uint64) (int64, wasiErrno) {
	if uint32(s[1]) > maxDescriptor {
		return costSystem, wasiBadf
	}
	return costSystem, wasiOK
}

// admitPoll bounds the events of poll_oneoff.
func admitPoll(_ api.Module, s []uint64) (int64, wasiErrno) {
	n := uint32(s[2])
	if n > maxVectors {
		return costSystem, wasiInval
	}
	return costSystem + int64(n)*costVector, wasiOK
}

// admitPaths bounds the paths whose lengths are the arguments with the numbers at.
func admitPaths(at ...int) admission {
	return func(_ api.Module, s []uint64) (int64, wasiErrno) {
		cost, errno := int64(costSystem), wasiOK
		for _, i := range at {
			n := uint32(s[i])
			if n > maxPath {
				errno = wasiNametoolong
			}
			cost += costPathByte * int64(min(n, maxPath))
		}
		return cost, errno
	}
}
