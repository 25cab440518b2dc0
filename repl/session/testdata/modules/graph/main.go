package main

import (
	"fmt"
	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

func main() {

	g := simple.NewWeightedDirectedGraph(0, 1e9)
	for _, e := range []simple.WeightedEdge{
		{F: simple.Node(0), T: simple.Node(1), W: 4}, {F: simple.Node(0), T: simple.Node(2), W: 1},
		{F: simple.Node(2), T: simple.Node(1), W: 2}, {F: simple.Node(1), T: simple.Node(3), W: 5},
	} {
		g.SetWeightedEdge(e)
	}
	p, w := path.DijkstraFrom(simple.Node(0), g).To(3)
	fmt.Println(p, w)
	sorted, err := topo.Sort(g)
	fmt.Println(sorted, err, topo.PathExistsIn(g, simple.Node(3), simple.Node(0)))
}
