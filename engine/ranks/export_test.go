package ranks

import "context"

// InPieces is the group with calls of at most so many bytes for each rank.
func InPieces(g *Group, most int) *Group { return New(pieces{g.link, most}) }

// Alike is what Near does with the names of machines.
var Alike = alike

// Approach is what Place does last.
func (g *Group) Approach(ctx context.Context) error { return g.approach(ctx) }
