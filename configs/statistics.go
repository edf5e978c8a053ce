package configs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

// Statistic is one that is asked for. What does not belong to its kind is empty.
type Statistic struct {
	Kind      string     // count, sum, mean, …: one of [StatisticKinds]
	Columns   []string   // one in most cases; "all" alone is all of them: see Names
	Bounds    Bounds     // values are taken for the nearest one within
	Each      []Interval // bounds of every column, of a list that has them; empty where Bounds are of all
	Equals    string     // of a count: the class that is counted
	Range     *Interval
	Bins      int         // of a histogram of numbers, and of where a quantile may lie; 0 of quantiles: as many as serve best
	Quantiles []float64   // in (0, 1)
	Interval  float64     // of quantiles that are chosen: the share of their cost that goes into the intervals
	Step      float64     // of a median: by how much a record may move it
	Queries   []Statistic // counts, of a search for the first one above a threshold
	Threshold int
	Mechanism string
	Trust     string  // of a histogram: curator, shuffler or nobody
	Share     float64 // of the budget, relative to the others'

	at   Position
	path string
	many bool // the columns were given as a list
}

// Interval is all x with Low ≤ x ≤ High.
type Interval struct{ Low, High float64 }

// Bounds are those of a column. They are public: declared, those of pixels, or found privately.
type Bounds struct {
	Interval
	Private bool // to be found
}

// Who is trusted with the values of a histogram.
const (
	Curator  = "curator"  // whoever computes the statistic sees the values
	Shuffler = "shuffler" // each is randomized by its holder, and somebody mixes them
	Nobody   = "nobody"   // each is randomized by its holder
)

// Kinds of statistics.
const (
	StatCount      = "count"
	StatSum        = "sum"
	StatMean       = "mean"
	StatVariance   = "variance"
	StatHistogram  = "histogram"
	StatQuantiles  = "quantiles"
	StatMedian     = "median"
	StatCovariance = "covariance"

	StatAboveThreshold = "above_threshold"
)

// The mechanisms of a file.
const (
	DiscreteLaplace  = "discrete_laplace"
	Laplace          = "laplace"
	DiscreteGaussian = "discrete_gaussian"
	Gaussian         = "gaussian"
	Exponential      = "exponential"
	PermuteAndFlip   = "permute_and_flip"
	NoisyMax         = "noisy_max"

	ProposeTestRelease = "propose_test_release"
	SparseVector       = "sparse_vector"
)

// LocalMechanisms are the mechanisms of histograms that a holder of a record runs.
var LocalMechanisms = []string{"randomized_response", "unary", "symmetric_unary", "local_hashing", "rappor"}

var (
	noiseMechanisms  = []string{DiscreteLaplace, Laplace, DiscreteGaussian, Gaussian}
	choiceMechanisms = []string{Exponential, PermuteAndFlip, NoisyMax}
)

// statisticKind lists the keys and mechanisms of a statistic. The first mechanism is the default.
type statisticKind struct {
	name       string
	keys       []string // beside statistic, mechanism and share
	mechanisms []string
	classes    bool // it may be of classes, too
}

var statisticKinds = []statisticKind{
	{StatCount, []string{"column", "equals", "range"}, noiseMechanisms, true},
	{StatSum, []string{"column", "bounds"}, noiseMechanisms, false},
	{StatMean, []string{"column", "columns", "bounds"}, noiseMechanisms, false},
	{StatVariance, []string{"column", "bounds"}, noiseMechanisms, false},
	{StatHistogram, []string{"column", "bounds", "bins", "trust"}, slices.Concat(noiseMechanisms, LocalMechanisms), true},
	{StatQuantiles, []string{"column", "bounds", "bins", "quantiles", "interval"}, slices.Concat(choiceMechanisms, noiseMechanisms), false},
	{StatMedian, []string{"column", "bounds", "step"}, []string{ProposeTestRelease}, false},
	{StatCovariance, []string{"columns", "bounds"}, []string{Gaussian}, false},
	{StatAboveThreshold, []string{"queries", "threshold"}, []string{SparseVector}, false},
}

// StatisticKinds lists the kinds of statistics.
func StatisticKinds() []string {
	names := make([]string, len(statisticKinds))
	for i, k := range statisticKinds {
		names[i] = k.name
	}
	return names
}

func (k statisticKind) takes(key string) bool { return slices.Contains(k.keys, key) }

// kind is the row of the statistic's kind.
func (s *Statistic) kind() statisticKind {
	return statisticKinds[slices.IndexFunc(statisticKinds, func(k statisticKind) bool { return k.name == s.Kind })]
}

var (
	statisticColumn = freeText{What: "the name of a column", Pattern: `^.+$`, Max: 256, Digits: true}
	countedClass    = freeText{What: "the name of a class", Pattern: `^.+$`, Max: 256, Digits: true}
	finiteFormat    = setting.Number{Min: -1e12, Max: 1e12}
	insideFormat    = setting.Number{Min: 0, Max: 1, OpenMin: true, OpenMax: true}
	binsFormat      = setting.Integer{Min: 2, Max: 4096}
	thresholdFormat = setting.Integer{Min: 0, Max: 1 << 31}
	stepFormat      = setting.Number{Min: 0, Max: 1e12, OpenMin: true}
	shareFormat     = setting.Number{Min: 0, Max: 1e6, OpenMin: true}
	trustFormat     = setting.Choice{Curator, Shuffler, Nobody}
)

// decodeStatistic reads one statistic; what is wrong is reported under its path.
func decodeStatistic(r *report, n *node, path string) (s Statistic, ok bool) {
	const expected = "a mapping such as {statistic: mean, column: age, bounds: [0, 120]}"
	if n.Kind != mappingNode {
		r.Expected(n, path, expected, "")
		return s, false
	}
	s = Statistic{Share: 1, Trust: Curator, at: n.At, path: path}
	at := slices.IndexFunc(n.Entries, func(e entry) bool { return e.Key == "statistic" })
	if at < 0 {
		r.Addf(n.At, path+".statistic", "found nothing, expected %s", setting.Choice(StatisticKinds()).Expected())
		return s, false
	}
	if !Decode(setting.Choice(StatisticKinds()), r, n.Entries[at].Value, path+".statistic", &s.Kind) {
		return s, false
	}
	ok = true
	for _, e := range n.Entries {
		ok = s.decode(r, e) && ok
	}
	return s, ok && s.complete(r, n)
}

// decode reads one key of a statistic.
func (s *Statistic) decode(r *report, e entry) bool {
	k, path := s.kind(), s.path+"."+printable(e.Key)
	keys := slices.Concat([]string{"statistic"}, k.keys, []string{"mechanism", "share"})
	if !slices.Contains(keys, e.Key) {
		r.Addf(e.At, path, "found a key that a %s does not have, expected one of %s", s.Kind, strings.Join(keys, ", "))
		return false
	}
	switch e.Key {
	case "column":
		s.Columns = []string{""}
		return Decode(statisticColumn, r, e.Value, path, &s.Columns[0])
	case "columns":
		return s.decodeColumns(r, e.Value, path)
	case "bounds":
		return s.decodeBounds(r, e.Value, path)
	case "range":
		s.Range = new(Interval)
		return decodeInterval(r, e.Value, path, "[low, high]", s.Range)
	case "equals":
		return Decode(countedClass, r, e.Value, path, &s.Equals)
	case "bins":
		return Decode(binsFormat, r, e.Value, path, &s.Bins)
	case "quantiles":
		return s.decodeQuantiles(r, e.Value, path)
	case "interval":
		return Decode(insideFormat, r, e.Value, path, &s.Interval)
	case "queries":
		return s.decodeQueries(r, e.Value, path)
	case "threshold":
		return Decode(thresholdFormat, r, e.Value, path, &s.Threshold)
	case "step":
		return Decode(stepFormat, r, e.Value, path, &s.Step)
	case "mechanism":
		return Decode(setting.Choice(k.mechanisms), r, e.Value, path, &s.Mechanism)
	case "trust":
		return Decode(trustFormat, r, e.Value, path, &s.Trust)
	case "share":
		return Decode(shareFormat, r, e.Value, path, &s.Share)
	}
	return true
}

func (s *Statistic) decodeColumns(r *report, n *node, path string) bool {
	s.many = true
	if n.Kind == scalarNode && n.Text == allColumns {
		s.Columns = []string{allColumns}
		return true
	}
	if n.Kind != listNode || len(n.Items) < 2 {
		r.Expected(n, path, "a list of at least two columns, or "+allColumns, "")
		return false
	}
	s.Columns = make([]string, len(n.Items))
	ok := true
	for i, item := range n.Items {
		ok = Decode(statisticColumn, r, item, fmt.Sprintf("%s[%d]", path, i), &s.Columns[i]) && ok
	}
	return ok
}

// allColumns stands for every column with numbers.
const allColumns = "all"

func (s *Statistic) decodeBounds(r *report, n *node, path string) bool {
	if n.Kind == scalarNode && n.Text == "private" {
		s.Bounds.Private = true
		return true
	}
	if !s.kind().takes("columns") || n.Kind != listNode || len(n.Items) == 0 || n.Items[0].Kind != listNode {
		return decodeInterval(r, n, path, "[low, high], or private", &s.Bounds.Interval)
	}
	s.Each = make([]Interval, len(n.Items))
	ok := true
	for i, item := range n.Items {
		ok = decodeInterval(r, item, fmt.Sprintf("%s[%d]", path, i), "[low, high]", &s.Each[i]) && ok
	}
	return ok
}

// BoundsOf are those of the statistic's i-th column.
func (s *Statistic) BoundsOf(i int) Interval {
	if len(s.Each) > 0 {
		return s.Each[i]
	}
	return s.Bounds.Interval
}

func decodeInterval(r *report, n *node, path, expected string, into *Interval) bool {
	if n.Kind != listNode || len(n.Items) != 2 {
		r.Expected(n, path, expected, "")
		return false
	}
	low := Decode(finiteFormat, r, n.Items[0], path+"[0]", &into.Low)
	high := Decode(finiteFormat, r, n.Items[1], path+"[1]", &into.High)
	if low && high && !(into.Low < into.High) {
		r.Addf(n.At, path, "found %s and %s, expected a low end below the high one", encodeNumber(into.Low), encodeNumber(into.High))
		return false
	}
	return low && high
}

// maxQuantiles is how many may be asked at once.
const maxQuantiles = 32

func (s *Statistic) decodeQuantiles(r *report, n *node, path string) bool {
	if n.Kind != listNode || len(n.Items) == 0 || len(n.Items) > maxQuantiles {
		r.Expected(n, path, fmt.Sprintf("a list of 1 to %d numbers such as [0.25, 0.5, 0.75]", maxQuantiles), "")
		return false
	}
	s.Quantiles = make([]float64, len(n.Items))
	ok := true
	for i, item := range n.Items {
		ok = Decode(insideFormat, r, item, fmt.Sprintf("%s[%d]", path, i), &s.Quantiles[i]) && ok
	}
	return ok
}

// maxQueries is how many counts a search looks at.
const maxQueries = 256

// decodeQueries reads counts as those of a file are read, less what a search has itself.
func (s *Statistic) decodeQueries(r *report, n *node, path string) bool {
	if n.Kind != listNode || len(n.Items) == 0 || len(n.Items) > maxQueries {
		r.Expected(n, path, fmt.Sprintf("a list of 1 to %d counts such as {column: age, range: [65, 120]}", maxQueries), "")
		return false
	}
	ok := true
	for i, item := range n.Items {
		q := Statistic{Kind: StatCount, Share: 1, Trust: Curator, at: item.At, path: fmt.Sprintf("%s[%d]", path, i)}
		if item.Kind != mappingNode {
			r.Expected(item, q.path, "a count such as {column: age, range: [65, 120]}", "")
			ok = false
			continue
		}
		fine := true
		for _, e := range item.Entries {
			if !q.kind().takes(e.Key) {
				r.Addf(e.At, q.path+"."+printable(e.Key), "found a key that a count of a search does not have, expected one of %s", strings.Join(q.kind().keys, ", "))
				fine = false
				continue
			}
			fine = q.decode(r, e) && fine
		}
		ok = fine && q.complete(r, item) && ok
		if s.Queries = append(s.Queries, q); len(q.Columns) == 1 && !slices.Contains(s.Columns, q.Columns[0]) {
			s.Columns = append(s.Columns, q.Columns[0])
		}
	}
	return ok
}

// complete reports what is missing or does not go together, and fills in what was left out.
func (s *Statistic) complete(r *report, n *node) bool {
	k := s.kind()
	missing := func(key, expected string) bool {
		r.Addf(n.At, s.path+"."+key, "found nothing, expected %s", expected)
		return false
	}
	switch {
	case s.Kind == StatAboveThreshold && len(s.Queries) == 0:
		return missing("queries", "a list of counts such as [{column: age, range: [65, 120]}]")
	case s.Kind == StatAboveThreshold && !slices.ContainsFunc(n.Entries, func(e entry) bool { return e.Key == "threshold" }):
		return missing("threshold", thresholdFormat.Expected()+": the number that a count has to reach")
	case len(s.Columns) == 0 && k.takes("column"):
		return missing("column", "the name of a column")
	case len(s.Columns) == 0:
		return missing("columns", "a list of at least two columns, or "+allColumns)
	case s.Kind == StatCount && (s.Equals == "") == (s.Range == nil):
		r.Addf(n.At, s.path, "found %s, expected equals (a class) or range ([low, high]): the number of all records is public", bothGiven(s.Range != nil))
		return false
	case len(s.Each) > 0 && !s.many:
		r.Addf(n.At, s.path+".bounds", "found a list of pairs for one column, expected [low, high], or private")
		return false
	case s.Kind == StatQuantiles && s.Quantiles == nil:
		return missing("quantiles", "a list of numbers such as [0.25, 0.5, 0.75]")
	case s.Kind == StatMedian && s.Step == 0:
		return missing("step", stepFormat.Expected()+": by how much one record may move the median")
	case s.Kind == StatMean && s.many && s.Mechanism != "" && s.Mechanism != Gaussian:
		r.Addf(n.At, s.path+".mechanism", "found %s, expected %s for several columns, which are released as one vector", s.Mechanism, Gaussian)
		return false
	case s.Trust == Curator && slices.Contains(LocalMechanisms, s.Mechanism):
		r.Addf(n.At, s.path+".mechanism", "found %s, expected it only with trust shuffler or nobody", s.Mechanism)
		return false
	case s.Trust != Curator && s.Mechanism != "" && !slices.Contains(LocalMechanisms, s.Mechanism):
		r.Addf(n.At, s.path+".mechanism", "found %s, expected one of %s with trust %s", s.Mechanism, strings.Join(LocalMechanisms, ", "), s.Trust)
		return false
	}
	switch {
	case s.Mechanism != "" || s.Trust != Curator:
	case s.Kind == StatQuantiles && s.Interval == 0: // the plan, which knows how many records there are, says
	case s.Kind == StatMean && s.many:
		s.Mechanism = Gaussian
	default:
		s.Mechanism = k.mechanisms[0]
	}
	if s.Interval > 0 && !s.Chosen() {
		r.Addf(n.At, s.path+".interval", "found a share of the cost for intervals, expected it only with one of %s", strings.Join(choiceMechanisms, ", "))
		return false
	}
	return true
}

// Chosen reports whether the statistic is quantiles by a mechanism that chooses among candidates.
func (s *Statistic) Chosen() bool {
	return s.Kind == StatQuantiles && slices.Contains(choiceMechanisms, s.Mechanism)
}

// The share of the cost of chosen quantiles that goes into their intervals: of files that people
// write, and of runs that did not write it down.
const (
	Intervals        = 0.2
	earlierIntervals = 0.5
)

func bothGiven(given bool) string {
	if given {
		return "equals and range"
	}
	return "neither equals nor range"
}

// Many reports whether the columns were given as a list: the values are one, too.
func (s Statistic) Many() bool { return s.many }

// String is the statistic as a flow mapping of YAML.
func (s Statistic) String() string {
	parts := []string{"statistic: " + s.Kind}
	add := func(key, value string) { parts = append(parts, key+": "+value) }
	switch {
	case s.Kind == StatAboveThreshold:
		add("queries", "["+strings.Join(encodeCounts(s.Queries), ", ")+"]")
		add("threshold", fmt.Sprint(s.Threshold))
	case s.many && len(s.Columns) == 1:
		add("columns", allColumns)
	case s.many:
		add("columns", "["+strings.Join(encodeTexts(s.Columns), ", ")+"]")
	default:
		add("column", encodeTexts(s.Columns)[0])
	}
	switch {
	case s.Bounds.Private:
		add("bounds", "private")
	case s.Bounds.Low < s.Bounds.High:
		add("bounds", s.Bounds.String())
	case len(s.Each) > 0:
		each := make([]string, len(s.Each))
		for i, b := range s.Each {
			each[i] = b.String()
		}
		add("bounds", "["+strings.Join(each, ", ")+"]")
	}
	if s.Equals != "" {
		add("equals", formatText(s.Equals))
	}
	if s.Range != nil {
		add("range", s.Range.String())
	}
	if s.Bins > 0 {
		add("bins", fmt.Sprint(s.Bins))
	}
	if s.Quantiles != nil {
		numbers := make([]string, len(s.Quantiles))
		for i, q := range s.Quantiles {
			numbers[i] = encodeNumber(q)
		}
		add("quantiles", "["+strings.Join(numbers, ", ")+"]")
	}
	if s.Interval > 0 {
		add("interval", encodeNumber(s.Interval))
	}
	if s.Step > 0 {
		add("step", encodeNumber(s.Step))
	}
	if s.Trust != Curator {
		add("trust", s.Trust)
	}
	if s.Mechanism != "" {
		add("mechanism", s.Mechanism)
	}
	add("share", encodeNumber(s.Share))
	return "{" + strings.Join(parts, ", ") + "}"
}

// encodeCounts are counts as a search has them.
func encodeCounts(counts []Statistic) []string {
	out := make([]string, len(counts))
	for i, q := range counts {
		out[i] = "{column: " + formatText(q.Columns[0])
		if q.Range != nil {
			out[i] += ", range: " + q.Range.String() + "}"
		} else {
			out[i] += ", equals: " + formatText(q.Equals) + "}"
		}
	}
	return out
}

func encodeTexts(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = formatText(w)
	}
	return out
}

// String is the interval as a list of YAML.
func (b Interval) String() string {
	return fmt.Sprintf("[%s, %s]", encodeNumber(b.Low), encodeNumber(b.High))
}

// Middle and Half are the middle of an interval, and half its length.
func (b Interval) Middle() float64 { return b.Low + b.Half() }

// Half is half the length.
func (b Interval) Half() float64 { return (b.High - b.Low) / 2 }

// Nearest is the number of the interval that is nearest to x; the middle for what is no number.
func (b Interval) Nearest(x float64) float64 {
	if math.IsNaN(x) {
		return b.Middle()
	}
	return min(max(x, b.Low), b.High)
}
