#include "textflag.h"

#define E1(i)    PCALIGN $16; MOVD $(i), R26; B ·enterClosure(SB)
#define E4(i)    E1(i); E1(i+1); E1(i+2); E1(i+3)
#define E16(i)   E4(i); E4(i+4); E4(i+8); E4(i+12)
#define E64(i)   E16(i); E16(i+16); E16(i+32); E16(i+48)
#define E256(i)  E64(i); E64(i+64); E64(i+128); E64(i+192)
#define E1024(i) E256(i); E256(i+256); E256(i+512); E256(i+768)
#define E4096(i) E1024(i); E1024(i+1024); E1024(i+2048); E1024(i+3072)

// func entries()
TEXT ·entries(SB), NOSPLIT|NOFRAME, $0-0
	E4096(0)
	E4096(4096)
	E4096(8192)
	E4096(12288)
	E4096(16384)
	E4096(20480)
	E4096(24576)
	E4096(28672)

// func enterClosure()
TEXT ·enterClosure(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $·closures(SB), R27
	MOVD (R27)(R26<<3), R26
	MOVD (R26), R27
	B    (R27)

DATA ·firstEntry+0(SB)/8, $·entries(SB)
GLOBL ·firstEntry(SB), NOPTR|RODATA, $8
