//go:build armbe || arm64be || m68k || mips || mips64 || mips64p32 || ppc || ppc64 || s390 || s390x || shbe || sparc || sparc64

package dtype

// Files of tensors, and quantised weights in memory, are read as they lie, lowest byte first. Where numbers
// lie the other way round results would be wrong, so it does not compile there.
const _ = thisEngineNeedsALittleEndianProcessor
