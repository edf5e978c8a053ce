package questions

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"strings"
)

// svgCanvas writes SVG 1.1.
type svgCanvas struct{ body bytes.Buffer }

// svg draws a chart as an SVG file.
func (c chart) svg() []byte {
	var s svgCanvas
	c.draw(&s)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n",
		chartWidth, chartHeight, chartWidth, chartHeight, escape(c.title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", chartWidth, chartHeight)
	b.WriteString(`<g font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="14" fill="none" stroke-linejoin="round">` + "\n")
	b.Write(s.body.Bytes())
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

func (s *svgCanvas) line(points []point, c color.RGBA, width float64, dashes []float64) {
	var path strings.Builder
	for _, p := range points {
		fmt.Fprintf(&path, " %.1f,%.1f", p.x, p.y)
	}
	dash := ""
	if len(dashes) > 0 {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, strings.Trim(fmt.Sprint(dashes), "[]"))
	}
	fmt.Fprintf(&s.body, `<polyline points="%s" stroke="%s" stroke-width="%g"%s/>`+"\n", path.String()[1:], hexColour(c), width, dash)
}

func (s *svgCanvas) text(at point, text string, c color.RGBA, a align) {
	anchor := [...]string{alignLeft: "start", alignCentre: "middle", alignRight: "end"}[a]
	fmt.Fprintf(&s.body, `<text x="%.1f" y="%.1f" fill="%s" text-anchor="%s">%s</text>`+"\n", at.x, at.y, hexColour(c), anchor, escape(text))
}

func hexColour(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func escape(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a buffer takes everything
	return b.String()
}
