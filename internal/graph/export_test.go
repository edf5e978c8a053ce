package graph

import "gorgonia.org/gorgonia"

// Graph is the Gorgonia graph under construction.
func (b *Builder) Graph() *gorgonia.ExprGraph { return b.graph }
