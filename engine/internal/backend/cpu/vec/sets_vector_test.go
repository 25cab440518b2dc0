//go:build (amd64 || arm64) && !mcs_portable

package vec

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// eachSet runs a test once for each instruction set of this machine.
func eachSet(t *testing.T, test func(t *testing.T)) {
	defer use(isa.Level())
	for _, set := range isa.Sets()[1:] {
		use(set)
		t.Run(set.String(), test)
	}
}
