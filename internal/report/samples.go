package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"

	"dpsgd/data"
	"dpsgd/internal/score"
)

// Limits on the test pictures in a report, which has to stay small.
const (
	samplesOfGroup  = 12 // in each of the two groups of a run
	samplesOfReport = 96 // of all runs

	longestSide = 48 // of a shown picture, in pixels; larger ones are made smaller
)

// Sample is one test picture or text with what the model says of it.
type Sample struct {
	Picture     template.URL // a PNG as a data URL; "" of a text
	Text        string       // how a text begins
	Number      int          // of the test picture
	Label       string       // its class
	Class       string       // the one that it is taken for
	Probability string       // of Class
	Right       bool
}

// Alt returns what a screen reader says in place of the picture.
func (s Sample) Alt() string { return fmt.Sprintf("test picture %d, class %s", s.Number, s.Label) }

// SampleGroup is pictures that have something in common.
type SampleGroup struct {
	Title   string
	Samples []Sample
}

// Samples returns two groups of test pictures or texts: some evenly from all of them, and those that the
// model is wrong about and most sure of. Examples that are rows of numbers have none.
func (p part) Samples(most int) []SampleGroup {
	if p.Run == nil || p.Run.Examination == nil || p.Run.Examination.Pictures == nil && p.Run.Examination.Text == nil || most == 0 {
		return nil
	}
	e := p.Run.Examination
	n := len(e.Predictions)
	some := make([]int, min(n, most))
	for i := range some {
		some[i] = i * n / len(some)
	}
	groups := []SampleGroup{{"Test " + e.Noun + ", evenly from all of them", samples(e, some)}}
	if wrong := surestErrors(e, most); len(wrong) > 0 {
		groups = append(groups, SampleGroup{"Wrong, and most sure of it", samples(e, wrong)})
	}
	return groups
}

// surestErrors returns the indices of the wrong predictions with the largest probabilities.
func surestErrors(e *score.Examination, most int) []int {
	var wrong []int
	for i, p := range e.Predictions {
		if p.Class != p.Label {
			wrong = append(wrong, i)
		}
	}
	slices.SortStableFunc(wrong, func(a, b int) int {
		return cmp.Compare(e.Predictions[b].Probability, e.Predictions[a].Probability)
	})
	return wrong[:min(len(wrong), most)]
}

func samples(e *score.Examination, examples []int) []Sample {
	found := make([]Sample, len(examples))
	for i, example := range examples {
		p := e.Predictions[example]
		found[i] = Sample{
			Number: example + 1, Right: p.Class == p.Label,
			Label: e.Matrix.Names[p.Label], Class: e.Matrix.Names[p.Class], Probability: fmt.Sprintf("%.0f\u00a0%%", 100*p.Probability),
		}
		if e.Text != nil {
			found[i].Text = e.Text(example)
		} else {
			found[i].Picture = pictureURL(e.Pictures, example)
		}
	}
	return found
}

// pictureURL returns a test picture as a data URL, "" if it can no longer be read.
func pictureURL(set data.Pictures, example int) (url template.URL) {
	_ = set.View(example, func(pixels []uint8) { url = dataURL(picture(set.Shape(), pixels)) })
	return url
}

// picture makes a test picture small: each pixel is the mean of a square of its pixels.
func picture(shape data.Shape, pixels []uint8) image.Image {
	by := max(1, (max(shape.Height, shape.Width)+longestSide-1)/longestSide)
	height, width := max(1, shape.Height/by), max(1, shape.Width/by)
	at := func(y, x, channel int) uint8 {
		sum, n := 0, 0
		for dy := range min(by, shape.Height-y*by) {
			for dx := range min(by, shape.Width-x*by) {
				sum, n = sum+int(pixels[((y*by+dy)*shape.Width+x*by+dx)*shape.Channels+channel]), n+1
			}
		}
		return uint8(sum / n)
	}
	var small draw.Image = image.NewNRGBA(image.Rect(0, 0, width, height))
	if shape.Channels == 1 {
		small = image.NewGray(small.Bounds())
	}
	for y := range height {
		for x := range width {
			last := shape.Channels - 1
			small.Set(x, y, color.NRGBA{at(y, x, 0), at(y, x, min(1, last)), at(y, x, min(2, last)), 0xff})
		}
	}
	return small
}

func dataURL(m image.Image) template.URL {
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, m); err != nil {
		return "" // a buffer takes everything, and these pictures can be encoded
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()))
}
