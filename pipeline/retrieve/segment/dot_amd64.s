#include "textflag.h"

// func lanesAVX(a, b *float32, n int, out *[8]float32)
// n is a multiple of 8, and above 0. Products and sums are rounded one by one, as in Go.
TEXT ·lanesAVX(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ out+24(FP), DX
	VXORPS Y0, Y0, Y0

loop:
	VMOVUPS (SI), Y1
	VMULPS  (DI), Y1, Y1
	VADDPS  Y1, Y0, Y0
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ  loop

	VMOVUPS Y0, (DX)
	VZEROUPPER
	RET
