//go:build arm64 && !mcs_portable

package vec

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"

var tables = map[asm.Set]table{asm.NEON: {funcsNEON, useNEON}}

var adamW, stream = adamWNEON, streamNEON
