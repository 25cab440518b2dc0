//go:build arm64 && !mcs_portable

package vec

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var tables = map[isa.Set]table{isa.NEON: {funcsNEON, useNEON}}

var adamW, stream = adamWNEON, streamNEON
