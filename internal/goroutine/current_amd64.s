#include "textflag.h"

// func current() uintptr
TEXT ·current(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func depth() uintptr
TEXT ·depth(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ 8(AX), AX // stack.hi
	SUBQ SP, AX
	MOVQ AX, ret+0(FP)
	RET

// func word(of, offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-24
	MOVQ of+0(FP), AX
	MOVQ offset+8(FP), CX
	MOVQ (AX)(CX*1), AX
	MOVQ AX, ret+16(FP)
	RET
