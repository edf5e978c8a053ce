//go:build mpi

package mpi

// Misdirect writes to a rank that is not there.
func Misdirect(g Group) error {
	m := g.(*member)
	return m.order(func() error { return m.note(m.size, askTag, 0) })
}
