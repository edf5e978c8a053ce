package chart

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dpsgd/checkpoints"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure can be drawn: a [Chart], a [Heat] or [Intervals].
type Figure interface {
	// Write draws the figure into a file, as its ending says, in any case. The file is whole or
	// absent; one in its place is replaced. Errors start without a package, for the caller to put
	// its own before them.
	Write(path string) error
	// Inline returns the figure as an <svg> element for a page that describes it in words. It fills
	// the width that it gets and has no title. A screen reader says label.
	Inline(label string) ([]byte, error)
}

var _, _, _ Figure = Chart{}, Heat{}, Intervals{}

// Formats returns the endings of the files that [Figure.Write] can write.
func Formats() []string { return []string{".svg", ".png"} }

// writeFile writes what fill draws. Only the owner can read a file whose name has "private" in it.
func writeFile(path string, w, h vg.Length, fill func(draw.Canvas)) error {
	ending := strings.ToLower(filepath.Ext(path))
	if !slices.Contains(Formats(), ending) {
		return fmt.Errorf("found the plot %s, expected a file that ends in %s", path, strings.Join(Formats(), " or "))
	}
	content, err := drawn(ending[1:], w, h, func(on draw.Canvas) {
		on.SetColor(paper)
		on.Fill(on.Rectangle.Path())
		fill(on)
	})
	if err != nil {
		return err
	}
	perm := fs.FileMode(0o644)
	if strings.Contains(strings.ToLower(filepath.Base(path)), "private") {
		perm = 0o600 // for its owner alone, as all files that say so
	}
	if err := checkpoints.WriteFileAtomic(path, content, perm); err != nil {
		return fmt.Errorf("cannot write the plot: %w", err)
	}
	return nil
}

func drawn(format string, w, h vg.Length, fill func(draw.Canvas)) ([]byte, error) {
	canvas, err := draw.NewFormattedCanvas(w, h, format)
	if err != nil {
		return nil, fmt.Errorf("cannot draw the plot: %w", err)
	}
	fill(draw.New(canvas))
	var picture bytes.Buffer
	if _, err := canvas.WriteTo(&picture); err != nil {
		return nil, fmt.Errorf("cannot draw the plot: %w", err)
	}
	content := picture.Bytes()
	if format == "svg" {
		content = bytes.ReplaceAll(content, []byte("font-family:Liberation Sans;"), []byte("font-family:"+families+";"))
	}
	return content, nil
}

// families lists the font of the layout, and fonts of the same widths on other systems: SVG text
// stays text.
const families = "Liberation Sans,Arial,Helvetica,sans-serif"

// fontOfText matches the font of a text in the SVG that the library writes.
var fontOfText = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:[^;"]*;font-style:[^;"]*;font-size:[^;"]*;?`)

// Size of an inline figure in points: the width of a phone, where its text can still be read.
const (
	inlineWidth  = 330
	inlineHeight = 225
)

func inline(label string, w, h vg.Length, fill func(draw.Canvas)) ([]byte, error) {
	content, err := drawn("svg", w, h, fill)
	if err != nil {
		return nil, err
	}
	_, group, _ := bytes.Cut(content, []byte("<g")) // behind the head of a file
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s" style="font:%gpx %s">`+"\n", w.Points(), h.Points(), html.EscapeString(label), textSize.Points(), families)
	// Every text has the same font, which is a quarter of the file: it is enough to say it once.
	b.Write(themed(fontOfText.ReplaceAll(append([]byte("<g"), group...), nil)))
	return bytes.TrimSpace(b.Bytes()), nil
}

// themed replaces the colours of an SVG by custom properties of CSS, so that a page can set other
// colours in the dark: --chart-ink, --chart-grey, --chart-0, --chart-1 and so on. A colour that the
// page does not set stays as it is.
func themed(svg []byte) []byte {
	for name, c := range properties() {
		hex := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
		svg = bytes.ReplaceAll(svg, []byte(":"+hex), fmt.Appendf(nil, ":var(--chart-%s,%s)", name, hex))
	}
	return svg
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
