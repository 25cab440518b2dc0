//go:build !(darwin && arm64)

package metal

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// missing is short: every list of devices shows it.
const missing = "needs a Mac with Apple silicon"

func probe() []backend.Found { return []backend.Found{{Name: "metal", Missing: missing}} }

// Open says why there is no such backend.
func Open() (backend.Backend, error) { return nil, errors.New(missing) }
