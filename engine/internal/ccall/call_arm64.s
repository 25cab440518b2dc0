//go:build (linux || darwin) && !mcs_static

#include "textflag.h"

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $makeCalls(SB)

// makeCalls makes the calls of the *frame in R0, called by C's conventions (AAPCS64) on the system's stack.
//
// Stack: 0..31 the arguments after the eighth, 32 the call at work, 40 the frame, 48 R29, 56 R30.
// frame: 0 calls, 8 n, 16 done. Call: 0 Func, 8 Args, 104 Doubles, 136 Result, 144 Double, 152 Check; 160 bytes.
TEXT makeCalls(SB), NOSPLIT|NOFRAME, $0
	SUB  $64, RSP
	STP  (R29, R30), 48(RSP)
	ADD  $48, RSP, R29
	MOVD 0(R0), R9
	STP  (R9, R0), 32(RSP)

next:
	LDP  32(RSP), (R9, R10)
	MOVD 16(R10), R11
	MOVD 8(R10), R12
	CMP  R12, R11
	BHS  end

	LDP   72(R9), (R11, R12)
	STP   (R11, R12), 0(RSP)
	LDP   88(R9), (R11, R12)
	STP   (R11, R12), 16(RSP)
	FMOVD 104(R9), F0
	FMOVD 112(R9), F1
	FMOVD 120(R9), F2
	FMOVD 128(R9), F3
	LDP   8(R9), (R0, R1)
	LDP   24(R9), (R2, R3)
	LDP   40(R9), (R4, R5)
	LDP   56(R9), (R6, R7)
	MOVD  0(R9), R10
	CALL  (R10)

	LDP   32(RSP), (R9, R10)
	MOVD  R0, 136(R9)
	FMOVD F0, 144(R9)
	MOVD  152(R9), R11
	CBZ   R11, succeeded
	CBNZW R0, end

succeeded:
	MOVD 16(R10), R11
	ADD  $1, R11
	MOVD R11, 16(R10)
	ADD  $160, R9
	MOVD R9, 32(RSP)
	B    next

end:
	LDP  48(RSP), (R29, R30)
	ADD  $64, RSP
	MOVD ZR, R0
	RET
