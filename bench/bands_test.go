package main

import (
	"fmt"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/chart"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// BenchmarkBands draws docs/bands.svg and logs its numbers: `go test ./bench -bench Bands -benchtime 1x`.
func BenchmarkBands(b *testing.B) {
	figure := chart.Chart{Title: "What correlated noise leaves in the parameters", Subtitle: "as predicted, a root mean square over all steps",
		X: "bands: steps over which noise is correlated", Y: "% of what independent noise leaves at the same ε", LogarithmicX: true}
	for _, epsilon := range []int{1, 3, 8} {
		for _, preset := range []string{"mnist-cnn", "fashion-cnn", "cifar-cnn"} {
			line := chart.Line{Name: fmt.Sprintf("%s, ε = %d", preset, epsilon), Style: chart.Marked, Points: []chart.Point{{X: 1, Y: 100}}}
			for bands := 2; bands <= 32; bands *= 2 {
				set := fmt.Sprintf("training.sampling=cyclic privacy.correlation=banded privacy.epsilon=%d privacy.bands=%d training.blocks=%[2]d", epsilon, bands)
				c := tiny.Must(configs.Load(preset, strings.Fields(set)))(b)
				d := tiny.Must(train.Describe(c, 0))(b)
				line.Points = append(line.Points, chart.Point{X: float64(bands), Y: 100 * d.Privacy.Correlation.Error})
			}
			b.Logf("%s: %.0f", line.Name, line.Points)
			figure.Lines = append(figure.Lines, line)
		}
	}
	tiny.Check(b, figure.Write("../docs/bands.svg"))
}
