package configs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"dpsgd/internal/random"
	"dpsgd/internal/setting"
)

// Range is one key with what its values are drawn from.
type Range struct {
	Key    string
	Law    string  // choices, uniform or log_uniform
	Values []Value // the choices, or the two ends
	key    Settable
}

// laws are the ways to draw a value.
var laws = []string{lawChoices, lawUniform, lawLogUniform}

const (
	lawChoices    = "choices"
	lawUniform    = "uniform"
	lawLogUniform = "log_uniform"
)

func (s *Sweep) decodeRandom(r *report, n *node) {
	if n.Kind != mappingNode || len(n.Entries) == 0 {
		r.Expected(n, "random", "a mapping from keys such as privacy.clip_norm to {log_uniform: [0.1, 10]}", "")
		return
	}
	for _, e := range n.Entries {
		key, ok := sweptKey(r, e, "random.")
		if !ok {
			continue
		}
		name := "random." + e.Key
		if e.Value.Kind != mappingNode || len(e.Value.Entries) != 1 {
			r.Expected(e.Value, name, "{choices: [...]}, {uniform: [low, high]} or {log_uniform: [low, high]}", "")
			continue
		}
		law := e.Value.Entries[0]
		random := Range{Key: e.Key, Law: law.Key, key: key}
		switch name += "." + law.Key; law.Key {
		case lawChoices:
			random.Values = decodeList(r, key, law.Value, name)
		case lawUniform, lawLogUniform:
			random.decodeEnds(r, law.Value, name)
		default:
			Unknown(r, law, "random."+e.Key, laws)
		}
		s.Random = append(s.Random, random)
	}
}

// decodeEnds reads the two ends of an interval of numbers.
func (rg *Range) decodeEnds(r *report, n *node, name string) {
	switch rg.key.Format().(type) {
	case setting.Number, setting.Integer:
	default:
		r.Addf(n.At, name, "found an interval of what is no number, expected {choices: [...]}")
		return
	}
	if n.Kind != listNode || len(n.Items) != 2 {
		r.Expected(n, name, "a list of two numbers, the least and the greatest", n.ListHint())
		return
	}
	var ends []Value
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", name, i)
		v, ok := rg.key.Read(r, item, at)
		switch {
		case !ok:
			return
		case !setting.IsNumber(v.Text):
			r.Expected(item, at, "a number", "")
			return
		}
		ends = append(ends, v)
	}
	rg.Values = ends
	low, high := rg.ends()
	switch {
	case low >= high:
		r.Addf(n.Items[1].At, name+"[1]", "found %s, expected more than the %s before it", ends[1].Text, ends[0].Text)
	case rg.Law == lawLogUniform && low <= 0:
		r.Addf(n.Items[0].At, name+"[0]", "found %s, expected a number above 0, because its logarithm is uniform", ends[0].Text)
	}
}

func (rg Range) ends() (low, high float64) {
	low, _ = strconv.ParseFloat(rg.Values[0].Text, 64)
	high, _ = strconv.ParseFloat(rg.Values[1].Text, 64)
	return low, high
}

// drawnDigits are the digits of drawn numbers that are kept: enough to search with, few enough for names of folders.
const drawnDigits = 4

// draw draws a value, as YAML.
func (rg Range) draw(src *random.Source) string {
	u := src.Float64()
	if rg.Law == lawChoices {
		return rg.Values[int(u*float64(len(rg.Values)))].Text
	}
	low, high := rg.ends()
	_, whole := rg.key.Format().(setting.Integer)
	if rg.Law == lawLogUniform {
		low, high = math.Log(low), math.Log(high)
	}
	x := low + u*(high-low)
	if whole && rg.Law == lawUniform {
		x = math.Floor(low + u*(high-low+1))
	}
	if rg.Law == lawLogUniform {
		x = math.Exp(x)
	}
	low, high = rg.ends()
	if whole {
		return strconv.FormatFloat(min(high, math.Round(x)), 'f', 0, 64)
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', drawnDigits, 64), 64)
	return setting.Number{}.Encode(pointerTo(max(low, min(high, x))))
}

func pointerTo(x float64) *float64 { return &x }

// Draw is what was drawn for a sweep: the values of the keys of Random, as YAML and in their order,
// for each point. It can be empty.
type Draw struct {
	Points [][]string `json:"points"`
	// Names tell points apart where nobody may learn how many there are, which numbers would tell. A draw of an
	// earlier version has none.
	Names []string `json:"names,omitempty"`
}

// name is what stands for a point, from 0, in the names of its trials.
func (d Draw) name(i int) string {
	if i < len(d.Names) {
		return d.Names[i]
	}
	return strconv.Itoa(i + 1)
}

// Draw draws the number of points, unless the file says it, and the points.
func (s *Sweep) Draw(src *random.Source) Draw {
	d := Draw{Points: make([][]string, s.Number.draw(src))}
	for i := range d.Points {
		for _, rg := range s.Random {
			d.Points[i] = append(d.Points[i], rg.draw(src))
		}
	}
	if s.Number.Drawn() {
		for range d.Points {
			d.Names = append(d.Names, fmt.Sprintf("%012x", src.Uint64()>>16))
		}
	}
	return d
}

// DrawnFrom says in one line what [Sweep.Draw] draws from; "" for a grid. What was drawn from
// something else is another sweep.
func (s *Sweep) DrawnFrom() string {
	if len(s.Random) == 0 {
		return ""
	}
	parts := []string{"trials " + s.Number.String()}
	for _, rg := range s.Random {
		texts := make([]string, len(rg.Values))
		for i, v := range rg.Values {
			texts[i] = v.Text
		}
		parts = append(parts, fmt.Sprintf("%s %s [%s]", rg.Key, rg.Law, strings.Join(texts, ", ")))
	}
	return strings.Join(parts, "; ")
}

// values reads the values of a drawn point. The error is about a draw that is not of this sweep.
func (s *Sweep) values(point []string) ([]Value, error) {
	if len(point) != len(s.Random) {
		return nil, fmt.Errorf("found a drawn point of %d values, expected %d", len(point), len(s.Random))
	}
	var values []Value
	for i, rg := range s.Random {
		r := &report{}
		at := s.baseAt
		if len(rg.Values) > 0 {
			at = rg.Values[0].At()
		}
		n := readYAML(r, at, []byte(point[i]))
		if n == nil {
			return nil, r.Err()
		}
		v, ok := rg.key.Read(r, n, "random."+rg.Key)
		if !ok {
			return nil, r.Err()
		}
		values = append(values, v)
	}
	return values, nil
}

// checkDrawn refuses what the cost of choosing among a drawn number of points does not cover: that
// is the cost of the costliest point that could be drawn, which has to be among finitely many.
func (s *Sweep) checkDrawn(r *report) {
	if s.Number == nil || !s.Number.Drawn() {
		return
	}
	for _, rg := range s.Random {
		switch {
		case len(rg.Values) == 0: // has been told about
		case strings.HasPrefix(rg.Key, "data."):
			r.Addf(rg.Values[0].At(), "random."+rg.Key, "found a key of the data, expected none where the number of trials is drawn: all of them choose on the same data")
		case rg.Key == "privacy.delta":
			r.Addf(rg.Values[0].At(), "random."+rg.Key, "found a key that cannot be drawn, expected one δ for all trials")
		case rg.Law != lawChoices && !free(rg.Key):
			r.Addf(rg.Values[0].At(), "random."+rg.Key, "found an interval of what changes a trial's ε, expected {choices: [...]} where the number of trials is drawn: ε is that of the costliest")
		}
	}
}

// free reports whether a key leaves what a trial releases, and so what it costs, as it is.
func free(key string) bool {
	return key == "privacy.clip_norm" || key == SeedKey || strings.HasPrefix(key, "optimizer.") || strings.HasPrefix(key, "model.")
}

// Candidates are configurations among which is the costliest that can be drawn: every combination
// of choices, intervals of keys that are free standing at an end. All of them are valid.
func (s *Sweep) Candidates() ([]*Config, error) {
	all, err := s.corners()
	if err != nil {
		return nil, err
	}
	var candidates []*Config
	seen := map[string]bool{}
	for _, c := range all {
		id := ""
		for i, v := range c.values {
			if !free(s.Random[i].Key) {
				id += v.Key + "=" + v.Text + "\n"
			}
		}
		if !seen[id] {
			seen[id] = true
			candidates = append(candidates, c.config)
		}
	}
	return candidates, nil
}

// corner is a combination of choices and ends of intervals.
type corner struct {
	values []Value
	config *Config
}

// corners resolves all of them, so that no point that is drawn turns out to be invalid.
func (s *Sweep) corners() ([]corner, error) {
	base, err := s.open()
	if err != nil {
		return nil, err
	}
	var axes []Axis
	for _, rg := range s.Random {
		axes = append(axes, Axis{rg.Key, rg.Values})
	}
	var all []corner
	for _, values := range combinations(axes) {
		c, err := base.With(append(s.fixed(), values...), s.baseAt)
		if err != nil {
			return nil, fmt.Errorf("configs: trial %s of %s: %w", trialName(settingsOf(values)), s.file, err)
		}
		all = append(all, corner{values, c})
	}
	return all, nil
}
