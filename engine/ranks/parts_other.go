//go:build !linux

package ranks

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// Parts are the ranks of a machine, which hand each other files: by them a device has memory of which each of
// the ranks holds a part. See [Group.Parts].
type Parts struct{}

// Parts joins the ranks of each machine: on Linux.
func (g *Group) Parts(context.Context) (*Parts, error) {
	return nil, g.common(fmt.Errorf("ranks: parts: got %s, want Linux, where several processes hold memory together", runtime.GOOS))
}

// Rank is the number of this rank among those of its machine, Size how many these are.
func (p *Parts) Rank() int { return 0 }
func (p *Parts) Size() int { return 1 }

// Swap gives a file to all ranks of the machine, and returns those of all.
func (p *Parts) Swap(file *os.File) ([]*os.File, error) { return []*os.File{file}, nil }

// Close ends the connections.
func (p *Parts) Close() {}
