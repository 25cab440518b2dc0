package llm

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/device/devicetest"
)

func TestMain(m *testing.M) { devicetest.Main(m) }
