package cpu_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

func TestThreadsChangeNoBits(t *testing.T) {
	backendtest.SameBits(t, func(threads int) backend.Backend {
		b := cpu.New(threads)
		t.Cleanup(func() { b.Close() })
		return b
	})
}
