//go:build linux && !mcs_static

#include "textflag.h"

GLOBL ·trampoline(SB), NOPTR|RODATA, $8
DATA ·trampoline(SB)/8, $makeCalls(SB)

// makeCalls makes the calls of the *frame in DI, called by C's conventions (System V) on the system's stack.
//
// Stack: 0..79 the arguments after the sixth, 80 the call at work, 88 the frame.
// frame: 0 calls, 8 n, 16 done. Call: 0 Func, 8 Args, 136 Doubles, 168 Result, 176 Double, 184 Check; 192 bytes.
TEXT makeCalls(SB), NOSPLIT, $96-0
	MOVQ DI, 88(SP)
	MOVQ 0(DI), R11
	MOVQ R11, 80(SP)

next:
	MOVQ 88(SP), R10
	MOVQ 16(R10), AX
	CMPQ AX, 8(R10)
	JGE  end

	MOVQ  80(SP), R11
	MOVQ  56(R11), AX
	MOVQ  AX, 0(SP)
	MOVQ  64(R11), AX
	MOVQ  AX, 8(SP)
	MOVQ  72(R11), AX
	MOVQ  AX, 16(SP)
	MOVQ  80(R11), AX
	MOVQ  AX, 24(SP)
	MOVQ  88(R11), AX
	MOVQ  AX, 32(SP)
	MOVQ  96(R11), AX
	MOVQ  AX, 40(SP)
	MOVQ  104(R11), AX
	MOVQ  AX, 48(SP)
	MOVQ  112(R11), AX
	MOVQ  AX, 56(SP)
	MOVQ  120(R11), AX
	MOVQ  AX, 64(SP)
	MOVQ  128(R11), AX
	MOVQ  AX, 72(SP)
	MOVQ  8(R11), DI
	MOVQ  16(R11), SI
	MOVQ  24(R11), DX
	MOVQ  32(R11), CX
	MOVQ  40(R11), R8
	MOVQ  48(R11), R9
	MOVSD 136(R11), X0
	MOVSD 144(R11), X1
	MOVSD 152(R11), X2
	MOVSD 160(R11), X3
	MOVQ  0(R11), R10
	MOVL  $4, AX          // a function with "…" is told how many vector registers may be in use
	CALL  R10

	MOVQ  80(SP), R11
	MOVQ  88(SP), R10
	MOVQ  AX, 168(R11)
	MOVSD X0, 176(R11)
	CMPQ  184(R11), $0
	JEQ   succeeded
	TESTL AX, AX
	JNE   end

succeeded:
	INCQ 16(R10)
	ADDQ $192, 80(SP)
	JMP  next

end:
	XORL AX, AX
	RET
