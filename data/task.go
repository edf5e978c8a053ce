package data

// Task is the sort of thing that is learnt about an example.
type Task string

// The tasks.
const (
	Class  Task = "class"  // the one class of each example
	Labels Task = "labels" // which of several labels an example has
	Number Task = "number" // a number between public bounds
)

// Task returns what is learnt about the declared examples.
func (s Spec) Task() Task {
	switch {
	case len(s.Labels) > 0:
		return Labels
	case len(s.Bounds) > 0:
		return Number
	}
	return Class
}
