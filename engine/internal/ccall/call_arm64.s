//go:build (linux || darwin) && !mcs_static

#include "textflag.h"

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $makeCalls(SB)

// makeCalls makes the calls of the *frame in R0, called by C's conventions (AAPCS64) on the system's stack.
//
// Stack: 0..63 the arguments after the eighth, 64 the call at work, 72 the frame, 80 R29, 88 R30.
// frame: 0 calls, 8 n, 16 done. Call: 0 Func, 8 Args, 136 Doubles, 168 Result, 176 Double, 184 Check; 192 bytes.
TEXT makeCalls(SB), NOSPLIT|NOFRAME, $0
	SUB  $96, RSP
	STP  (R29, R30), 80(RSP)
	ADD  $80, RSP, R29
	MOVD 0(R0), R9
	STP  (R9, R0), 64(RSP)

next:
	LDP  64(RSP), (R9, R10)
	MOVD 16(R10), R11
	MOVD 8(R10), R12
	CMP  R12, R11
	BHS  end

	LDP   72(R9), (R11, R12)
	STP   (R11, R12), 0(RSP)
	LDP   88(R9), (R11, R12)
	STP   (R11, R12), 16(RSP)
	LDP   104(R9), (R11, R12)
	STP   (R11, R12), 32(RSP)
	LDP   120(R9), (R11, R12)
	STP   (R11, R12), 48(RSP)
	FMOVD 136(R9), F0
	FMOVD 144(R9), F1
	FMOVD 152(R9), F2
	FMOVD 160(R9), F3
	LDP   8(R9), (R0, R1)
	LDP   24(R9), (R2, R3)
	LDP   40(R9), (R4, R5)
	LDP   56(R9), (R6, R7)
	MOVD  0(R9), R10
	CALL  (R10)

	LDP   64(RSP), (R9, R10)
	MOVD  R0, 168(R9)
	FMOVD F0, 176(R9)
	MOVD  184(R9), R11
	CBZ   R11, succeeded
	CBNZW R0, end

succeeded:
	MOVD 16(R10), R11
	ADD  $1, R11
	MOVD R11, 16(R10)
	ADD  $192, R9
	MOVD R9, 64(RSP)
	B    next

end:
	LDP  80(RSP), (R29, R30)
	ADD  $96, RSP
	MOVD ZR, R0
	RET
