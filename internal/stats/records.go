package stats

import (
	"iter"
	"math"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/kernel"
)

// records holds the records that statistics are computed from, or none while a plan is made.
type records struct {
	set    data.Set // nil for none
	config *configs.Config
	public int // the number of records, which is public
}

func (r records) each() iter.Seq[record] {
	return func(yield func(record) bool) {
		if r.set == nil {
			return
		}
		view := record{set: r.set}
		for view.index = range r.set.Len() {
			if !yield(view) {
				return
			}
		}
	}
}

type record struct {
	set   data.Set
	index int
}

// number returns the mean of the record's values at c.Indices: of pixels scaled to 0 … 1, or of the
// numbers of a row or of features as they are.
func (r record) number(c configs.Column) float64 {
	sum := 0.0
	switch set := r.set.(type) {
	case *data.Images:
		pixels := set.Pixels(r.index)
		whole := 0
		for _, i := range c.Indices {
			whole += int(pixels[i])
		}
		sum = float64(whole) / 255
	case *data.Rows:
		for _, i := range c.Indices {
			sum += float64(set.Values(r.index)[i])
		}
	case *data.Features:
		var x [1]float32
		for _, i := range c.Indices {
			kernel.FromHalves(x[:], set.Halves(r.index)[i:i+1])
			sum += float64(x[0])
		}
	}
	return sum / float64(len(c.Indices))
}

func (r record) class() int { return r.set.Label(r.index) }

// resolution counts the steps from the middle of bounds to an end.
const resolution = 1 << 20

// steps returns how far x is from the middle of the bounds b, in steps, within ±resolution.
func steps(x float64, b configs.Interval) int64 { return int64(math.Round(scaled(x, b) * resolution)) }

// scaled maps x from the bounds b to -1 … 1; an x outside of them becomes the nearest end.
func scaled(x float64, b configs.Interval) float64 {
	return min(max((b.Nearest(x)-b.Middle())/b.Half(), -1), 1)
}

func columns(config *configs.Config, s configs.Statistic) ([]configs.Column, error) {
	var columns []configs.Column
	for _, name := range s.Names(config) {
		c, err := configs.ColumnOf(config, name)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, nil
}
