package model

// Input is the shape of one example.
func (m *Model) Input() Input { return m.input }

// Classes is the number of classes.
func (m *Model) Classes() int { return m.classes }
