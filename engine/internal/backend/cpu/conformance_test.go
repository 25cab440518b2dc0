package cpu_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

func TestConformance(t *testing.T) {
	backendtest.Run(t, func() (backend.Backend, error) { return cpu.New(0), nil })
}
