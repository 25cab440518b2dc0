// Package all registers every backend that this build has.
package all

import (
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/cpu"   // on every machine
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/metal" // on Macs with Apple silicon
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/ref"   // exact and slow, for checking
)
