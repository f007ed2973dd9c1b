// Package component makes one core WebAssembly module of a component of a fixed world, so that
// a host that runs core modules needs no runtime for components:
//
//	c, err := component.Read(bin)            // what the component consists of; nothing runs
//	wasm, err := c.Link(shell)               // one module: its core instances and the shell
//
// The world is that of [WIT]: functions that take and return numbers and lists of bytes. A
// component of it consists of core modules, of a graph that says which instance serves which
// import, and of imports of the WebAssembly System Interface 0.2. The shell is a core module that
// the caller writes. It imports what the component exports, answers what the component imports,
// and has the exports of the result.
//
// It is made for the bytes of strangers: every count, size and index is checked against the
// file, memory stays proportional to the file, and every failure is an error. It does not
// validate code; whoever runs the result does.
package component
