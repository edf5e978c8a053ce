package configs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"dpsgd/internal/random"
	"dpsgd/internal/setting"
)

// laws lists the ways to draw a value.
var laws = []string{lawChoices, lawUniform, lawLogUniform}

const (
	lawChoices    = "choices"
	lawUniform    = "uniform"
	lawLogUniform = "log_uniform"
)

// readLaw reads what values are drawn from: a mapping from one of laws to the choices or two ends.
func (a *axis) readLaw(r *report, n *node, name string) {
	if n.Kind != mappingNode || len(n.Entries) != 1 {
		r.Expected(n, name, "{choices: [...]}, {uniform: [low, high]} or {log_uniform: [low, high]}", "")
		return
	}
	law := n.Entries[0]
	a.law = law.Key
	switch law.Key {
	case lawChoices:
		a.readAll(r, law.Value, name+"."+law.Key, "values")
	case lawUniform, lawLogUniform:
		a.readEnds(r, law.Value, name+"."+law.Key)
	default:
		unknown(r, law, name, laws, "")
	}
}

// readEnds reads the two ends of an interval of numbers.
func (a *axis) readEnds(r *report, n *node, name string) {
	switch a.format.(type) {
	case setting.Number, setting.Integer:
	default:
		r.Addf(n.At, name, "found an interval of what is no number, expected {choices: [...]}")
		return
	}
	if n.Kind != listNode || len(n.Items) != 2 {
		r.Expected(n, name, "a list of two numbers, the least and the greatest", n.BracketHint())
		return
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", name, i)
		ok := a.read(r, item, at)
		if ok && !setting.IsNumber(a.values[i].text) {
			r.Expected(item, at, "a number", "")
		}
		if !ok || !setting.IsNumber(a.values[i].text) {
			a.values = nil
			return
		}
	}
	low, high := a.ends()
	switch {
	case low >= high:
		r.Addf(n.Items[1].At, name+"[1]", "found %s, expected more than the %s before it", a.values[1].text, a.values[0].text)
	case a.law == lawLogUniform && low <= 0:
		r.Addf(n.Items[0].At, name+"[0]", "found %s, expected a number above 0, because its logarithm is uniform", a.values[0].text)
	}
}

// ends returns the two ends of the interval that values are drawn from.
func (a axis) ends() (low, high float64) {
	low, _ = strconv.ParseFloat(a.values[0].text, 64)
	high, _ = strconv.ParseFloat(a.values[1].text, 64)
	return low, high
}

// drawnDigits is how many digits drawn numbers are rounded to: they stand in names of folders.
const drawnDigits = 4

// draw returns a value of the key that it draws from src, as YAML.
func (a axis) draw(src *random.Source) string {
	u := src.Float64()
	if a.law == lawChoices {
		return a.values[int(u*float64(len(a.values)))].text
	}
	low, high := a.ends()
	_, whole := a.format.(setting.Integer)
	x := low + u*(high-low)
	switch {
	case a.law == lawLogUniform:
		from, to := math.Log(low), math.Log(high)
		x = math.Exp(from + u*(to-from))
	case whole:
		x = math.Floor(low + u*(high-low+1))
	}
	if whole {
		return strconv.FormatFloat(min(high, math.Round(x)), 'f', 0, 64)
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', drawnDigits, 64), 64)
	return encodeNumber(max(low, min(high, x)))
}

// Draw is what was drawn for a sweep: for each point, the values of the keys of random, as YAML and
// in file order. It may have no points.
type Draw struct {
	Points [][]string `json:"points"`
	// Names stand for points where numbers would tell how many there are, which nobody may learn. A
	// draw of an earlier version has none.
	Names []string `json:"names,omitempty"`
}

// name returns what stands for point i, counted from 0, in names of trials: its Name, or i+1.
func (d Draw) name(i int) string {
	if i < len(d.Names) {
		return d.Names[i]
	}
	return strconv.Itoa(i + 1)
}

// Draw draws the points of a sweep with random, and their number, unless the file says it.
func (s *Sweep) Draw(src *random.Source) Draw {
	d := Draw{Points: make([][]string, s.Number.draw(src))}
	for i := range d.Points {
		for _, a := range s.random {
			d.Points[i] = append(d.Points[i], a.draw(src))
		}
	}
	if s.Number.Drawn() {
		for range d.Points {
			d.Names = append(d.Names, fmt.Sprintf("%012x", src.Uint64()>>16))
		}
	}
	return d
}

// DrawnFrom says in one line what [Sweep.Draw] draws from; "" for a grid. Two sweeps with different
// lines are different sweeps.
func (s *Sweep) DrawnFrom() string {
	if len(s.random) == 0 {
		return ""
	}
	parts := []string{"trials " + s.Number.String()}
	for _, a := range s.random {
		values := texts(a.values, func(v value) string { return v.text })
		parts = append(parts, fmt.Sprintf("%s %s [%s]", a.path, a.law, strings.Join(values, ", ")))
	}
	return strings.Join(parts, "; ")
}

// pointOf reads the values of a drawn point. It fails if the values were not drawn for this sweep.
func (s *Sweep) pointOf(drawn []string) ([]value, error) {
	if len(drawn) != len(s.random) {
		return nil, fmt.Errorf("found a drawn point of %d values, expected %d", len(drawn), len(s.random))
	}
	var values []value
	for i, a := range s.random {
		r, at, one := &report{}, s.baseAt, axis{field: a.field}
		if len(a.values) > 0 {
			at = a.values[0].value.At
		}
		if n := readYAML(r, at, []byte(drawn[i])); n == nil || !one.read(r, n, "random."+a.path) {
			return nil, r.Err()
		}
		values = append(values, one.values...)
	}
	return values, nil
}

// checkDrawn refuses keys whose drawing, with a drawn number of points, gives the choice among them
// no known cost. The cost is that of the costliest point, which must be one of finitely many.
func (s *Sweep) checkDrawn(r *report) {
	if s.Number == nil || !s.Number.Drawn() {
		return
	}
	for _, a := range s.random {
		problem := ""
		switch {
		case strings.HasPrefix(a.path, "data."):
			problem = "found a key of the data, expected none where the number of trials is drawn: all of them choose on the same data"
		case a.path == "privacy.delta":
			problem = "found a key that cannot be drawn, expected one δ for all trials"
		case a.law != lawChoices && !a.free(false): // of an optimizer: see Candidates
			problem = intervalOfCosts
		}
		if problem != "" && len(a.values) > 0 { // without values it has been told about
			r.Addf(a.values[0].value.At, "random."+a.path, "%s", problem)
		}
	}
}

const intervalOfCosts = "found an interval of what changes a trial's ε, expected {choices: [...]} where the number of trials is drawn: ε is that of the costliest"

// free reports whether the value of the key leaves the privacy cost of a trial as it is. bands says
// that their number is chosen, [ChosenBands]: it follows from the optimizer.
func (f *field) free(bands bool) bool {
	return f.path == "privacy.clip_norm" || f.path == "federated.local_learning_rate" || f.path == SeedKey || strings.HasPrefix(f.path, "model.") || !bands && strings.HasPrefix(f.path, "optimizer.")
}

// Candidates returns configurations that include the costliest that can be drawn: one for each
// combination of choices of keys that are not free. An invalid combination is an error.
func (s *Sweep) Candidates() (candidates []*Config, err error) {
	with, err := s.open()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, values := range combinations(s.random) {
		c, err := with(values)
		if err != nil {
			return nil, fmt.Errorf("configs: trial %s of %s: %w", trialName(settingsOf(values)), s.file, err)
		}
		id := ""
		for i, v := range values {
			if v.field.free(c.Privacy.Correlation == ChosenBands) {
				continue
			}
			if s.random[i].law != lawChoices {
				return nil, Problems{{Position: v.value.At, Key: "random." + v.field.path, Message: intervalOfCosts}}
			}
			id += v.field.path + "=" + v.text + "\n"
		}
		if !seen[id] {
			seen[id] = true
			candidates = append(candidates, c)
		}
	}
	return candidates, nil
}
