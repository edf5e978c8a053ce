package records

import (
	"slices"
	"testing"

	"dpsgd/clip"
	"dpsgd/data"
	"dpsgd/internal/kernel"
	"dpsgd/internal/random"
	"dpsgd/internal/tiny"
	"dpsgd/release"
)

// A person adds one row of their own to the sum of all features, however many they have, and a row
// of nobody else's.
func TestAPersonAddsOneRow(t *testing.T) {
	const examples, persons = 20, 4
	values, labels := make([]float32, examples*examples), make([]uint8, examples)
	for i := range examples {
		values[i*examples+i] = 1 // row i is axis i
	}
	halves := make([]uint16, len(values))
	kernel.ToHalves(halves, values)
	rows := tiny.Must(data.NewFeatures(examples, []string{"a", "b"}, labels, halves))(t)
	own := make([][]int, persons) // no person has the example with their own number
	for i := range examples {
		own[(i+1)%persons] = append(own[(i+1)%persons], i)
	}
	r := &Records{people: &people{own: own, src: random.New()}}
	contributor := tiny.Must(r.Rows(rows))(t)
	for person := range persons {
		sum := tiny.Must(clip.NewSum(clip.Flat{ClipNorm: 1}, examples, nil))(t)
		tiny.Check(t, release.AddUp(sum, []int{person}, contributor))
		added := make([]int64, examples)
		sum.Release(func(integers clip.Integers, _ clip.Lattice) { integers(added, 0) })
		var axes []int
		for axis, v := range added {
			if v != 0 {
				axes = append(axes, axis)
			}
		}
		if len(axes) != 1 || !slices.Contains(own[person], axes[0]) {
			t.Errorf("person %d adds the rows %v, expected one of %v", person, axes, own[person])
		}
	}
}
