#include "textflag.h"

// func current() uintptr
TEXT ·current(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func depth() uintptr
TEXT ·depth(SB), NOSPLIT, $0-8
	MOVD 8(g), R0 // stack.hi
	MOVD RSP, R1
	SUB R1, R0
	MOVD R0, ret+0(FP)
	RET

// func word(of, offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-24
	MOVD of+0(FP), R0
	MOVD offset+8(FP), R1
	MOVD (R0)(R1), R0
	MOVD R0, ret+16(FP)
	RET
