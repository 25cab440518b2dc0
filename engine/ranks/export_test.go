package ranks

// InPieces is the group with calls of at most so many bytes for each rank.
func InPieces(g *Group, most int) *Group { return New(pieces{g.link, most}) }
