package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

func compileAttention(g *backend.Group) (func(*launch), error) {
	return nil, errors.New("attention groups are not supported")
}
