package ref_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// Against itself the reference shows that every case can be built, and that fusion changes no result.
func TestConformance(t *testing.T) { backendtest.Run(t, ref.Open) }
