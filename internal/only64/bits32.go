//go:build 386 || arm || mips || mipsle

package only64

var _ = anchor_host_needs_a_64_bit_platform
