// Package codecache keeps machine code on disk between processes. The host executes it, so
// every entry is checked first: its note bears the user's mark, and covers the machine code
// by its hash. An entry that is damaged, half-written or belongs to another user is removed,
// and its module is compiled again.
//
// wazero reads and writes files under its own names. It gets a folder that no other process
// uses. An entry is linked into that folder before its module is made. A new entry is
// compiled by a second wazero in a folder of its own.
//
// wazero names a file after the bytes of the module that it is given. The machine code may
// have been compiled from other bytes. The cache makes use of this: it files machine code
// under the name of the module's shell, a module without code, which is much faster to
// decode; see wasmbin.Shell. Before the first such entry is made, a trial checks that wazero
// behaves like this.
//
// wazero reads machine code into memory of its own. On Linux an entry has the code in a second
// file, whose pages take the place of that memory.
package codecache
