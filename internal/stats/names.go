package stats

import (
	"fmt"

	"dpsgd/configs"
)

// names say what the numbers of a list are, in its order; none of one number.
func (r *Run) names(a *asked) (names []string) {
	c := r.file.Config
	switch columns := a.Names(c); a.Kind {
	case configs.StatHistogram:
		if column, err := configs.ColumnOf(c, a.Columns[0]); err == nil && column.Class {
			return c.Data.Labels()
		}
		b := a.Bounds.Interval
		if a.Bounds.Private {
			b, _ = r.foundBounds(a.Columns[0])
		}
		for i := range a.Bins {
			names = append(names, fmt.Sprintf("%.4g to %.4g", edge(i, b, a.Bins), edge(i+1, b, a.Bins)))
		}
	case configs.StatQuantiles:
		for _, q := range a.Quantiles {
			names = append(names, fmt.Sprintf("%g of the records", q))
		}
	case configs.StatCovariance:
		for _, x := range columns {
			for _, y := range columns {
				names = append(names, x+" × "+y)
			}
		}
	case configs.StatMean:
		if a.Many() {
			return columns
		}
	case boundsKind:
		return []string{"low", "high"}
	}
	return names
}
