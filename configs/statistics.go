package configs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpsgd/internal/setting"
)

// Statistic is one statistic that a file asks for. Fields that its kind does not have are empty.
type Statistic struct {
	Kind      string      // count, sum, mean, …: one of [StatisticKinds]
	Columns   []string    // the names of its columns, one in most cases; "all" alone stands for all columns: see Names
	Bounds    Bounds      // a value outside is replaced by the nearest one within
	Each      []Interval  // bounds of each column in Columns; empty where Bounds hold for all
	Equals    string      // of a count: the class that is counted
	Range     Interval    // of a count: the numbers that are counted
	Bins      int         // equal parts of the bounds, for a histogram or quantiles; 0 for quantiles: as many as serve best
	Quantiles []float64   // in (0, 1)
	Interval  float64     // of quantiles that Chosen reports: the share of their cost that goes into the intervals around them
	Step      float64     // of a median: by how much a record may move it
	Queries   []Statistic // of a search: the counts, of which the first one above the threshold is sought
	Threshold int         // of a search: the number that a count has to reach
	Mechanism string      // one of those of the kind; "" of quantiles: the plan chooses
	Trust     string      // of a histogram: curator, shuffler or nobody
	Share     float64     // its share of the budget, relative to the shares of the others

	at   Position
	path string
	many bool // the columns were given as a list
}

// Interval is all x with Low ≤ x ≤ High.
type Interval struct{ Low, High float64 }

// Bounds are the bounds of a column's values: public ones, which the file declares, 0 and 1 for
// pixels; or, if Private, bounds that are to be found privately.
type Bounds struct {
	Interval
	Private bool // then there is no Interval
}

// The values of trust: who sees the values that a histogram counts.
const (
	Curator  = "curator"  // whoever computes the statistic sees the values
	Shuffler = "shuffler" // each is randomized by its holder, and somebody mixes them
	Nobody   = "nobody"   // each is randomized by its holder
)

// The values of statistic in a file: what is computed.
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

// The values of mechanism in a file of statistics.
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

// LocalMechanisms lists the mechanisms of histograms by which each record is randomized by its
// holder.
var LocalMechanisms = []string{"randomized_response", "unary", "symmetric_unary", "local_hashing", "rappor"}

var (
	noiseMechanisms  = []string{DiscreteLaplace, Laplace, DiscreteGaussian, Gaussian}
	choiceMechanisms = []string{Exponential, PermuteAndFlip, NoisyMax}
)

// statisticKind says which keys and mechanisms a kind of statistic can have. The first mechanism is
// the default.
type statisticKind struct {
	name       string
	keys       []string // beside statistic, mechanism and share
	mechanisms []string
	classes    bool // its column may be the class of a record, too
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
	return texts(statisticKinds, func(k statisticKind) string { return k.name })
}

func (k statisticKind) all() []string {
	return slices.Concat([]string{"statistic"}, k.keys, []string{"mechanism", "share"})
}

func (k statisticKind) takes(key string) bool { return slices.Contains(k.keys, key) }

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
	manyColumns     = listOf[string]{of: statisticColumn, min: 2, max: 65536, says: "a list of at least two columns, or " + allColumns}
	manyQuantiles   = listOf[float64]{of: insideFormat, min: 1, max: 32, says: "a list of 1 to 32 numbers such as [0.25, 0.5, 0.75]"}
	endsFormat      = listOf[float64]{of: finiteFormat, min: 2, max: 2, says: "[low, high]"}
)

// allColumns stands for every column with numbers.
const allColumns = "all"

// maxQueries is the most counts that a search may have.
const maxQueries = 256

// arguments lists the keys of statistics of all kinds, in the order in which they are written.
func (s *Statistic) arguments() []setting.Argument {
	each := object{"type", "array", "minItems", 2, "maxItems", 65536, "items", interval.schema}
	counts := object{"type", "array", "minItems", 1, "maxItems", maxQueries, "items", object{
		"type", "object", "additionalProperties", false, "required", []string{"column"},
		"properties", object{"column", statisticColumn.Schema(), "range", interval.schema, "equals", countedClass.Schema()},
	}}
	return []setting.Argument{
		{Name: "statistic", Format: setting.Choice(StatisticKinds()), Value: &s.Kind},
		{Name: "column", Format: form[Statistic]{schema: statisticColumn.Schema(), read: (*Statistic).readColumn, write: (*Statistic).column}, Value: s,
			Doc: "A column of the table, the number of a value of vectors, label, brightness, or pixel ROW COLUMN."},
		{Name: "columns", Format: form[Statistic]{schema: object{"anyOf", []object{manyColumns.Schema(), {"const", allColumns}}}, read: (*Statistic).readColumns, write: (*Statistic).columns}, Value: s,
			Doc: "Of a covariance, or of a mean that is released as one vector."},
		{Name: "bounds", Format: form[Statistic]{schema: object{"anyOf", []object{interval.schema, each, {"const", "private"}}}, read: (*Statistic).readBounds, write: (*Statistic).bounds}, Value: s,
			Doc: "Public bounds [low, high] of the numbers, of several columns also a pair for each, or private to find them."},
		{Name: "range", Format: interval, Value: &s.Range, Later: true, Doc: "Of a count: [low, high] of what is counted."},
		{Name: "equals", Format: countedClass, Value: &s.Equals, Later: true, Doc: "Of a count: the class that is counted."},
		{Name: "bins", Format: binsFormat, Value: &s.Bins, Later: true, Doc: "Equal parts of the bounds."},
		{Name: "quantiles", Format: manyQuantiles, Value: &s.Quantiles, Later: true, Doc: "Shares of the records that lie below."},
		{Name: "interval", Format: insideFormat, Value: &s.Interval, Later: true, Doc: "Of quantiles that are chosen: the share of their cost that goes into the intervals; 0.2 if left out."},
		{Name: "queries", Format: form[Statistic]{schema: counts, read: (*Statistic).readQueries, write: func(s *Statistic) string { return encodeItems(query(), s.Queries) }}, Value: s,
			Doc: "Of a search: the counts that are held against the threshold, in this order."},
		{Name: "threshold", Format: thresholdFormat, Value: &s.Threshold, Doc: "Of a search: the number that a count has to reach."},
		{Name: "step", Format: stepFormat, Value: &s.Step, Later: true, Doc: "Of a median: by how much one record may move it."},
		{Name: "trust", Format: setting.Choice{Curator, Shuffler, Nobody}, Value: &s.Trust, Later: true, Doc: "Of a histogram: who may see values."},
		{Name: "mechanism", Format: mechanismsOf(s.Kind), Value: &s.Mechanism, Later: true},
		{Name: "share", Format: setting.Number{Min: 0, Max: 1e6, OpenMin: true}, Value: &s.Share, Doc: "Part of the budget, relative to the shares of the others; 1 if left out."},
	}
}

func mechanismsOf(kind string) (names setting.Choice) {
	for _, k := range statisticKinds {
		for _, m := range k.mechanisms {
			if (kind == k.name || kind == "") && !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
	}
	return names
}

// decodeStatistic returns a statistic, and whether it is right. It reports errors under its path.
func decodeStatistic(r *report, n *node, path string) (s Statistic, ok bool) {
	if n.Kind != mappingNode {
		return s, r.Expected(n, path, "a mapping such as {statistic: mean, column: age, bounds: [0, 120]}", "")
	}
	s = Statistic{Share: 1, Trust: Curator, at: n.At, path: path}
	kind, kinds := find(n, []string{"statistic"}), setting.Choice(StatisticKinds())
	if kind == nil {
		return s, r.Addf(n.At, path+".statistic", "found nothing, expected %s", kinds.Expected())
	}
	if !decode(kinds, r, kind, path+".statistic", &s.Kind) {
		return s, false
	}
	ok = s.decode(r, n, "a "+s.Kind, s.kind().all())
	return s, ok && s.complete(r, n)
}

// decode reads the entries of n into the statistic, and reports those whose key is not in keys.
// Messages call the statistic what.
func (s *Statistic) decode(r *report, n *node, what string, keys []string) bool {
	ok := true
	for _, e := range n.Entries {
		path := s.path + "." + printable(e.Key)
		if !slices.Contains(keys, e.Key) {
			r.Addf(e.At, path, "found a key that %s does not have, expected one of %s", what, strings.Join(keys, ", "))
			ok = false
			continue
		}
		a := setting.Find(s.arguments(), e.Key)
		ok = decode(a.Format, r, e.Value, path, a.Value) && ok
	}
	return ok
}

func (s *Statistic) readColumn(r *report, n *node, path string) bool {
	s.Columns = []string{""}
	return decode(statisticColumn, r, n, path, &s.Columns[0])
}

func (s *Statistic) column() string {
	if s.many {
		return ""
	}
	return formatText(s.Columns[0])
}

func (s *Statistic) readColumns(r *report, n *node, path string) bool {
	s.many = true
	if n.Kind == scalarNode && n.Text == allColumns {
		s.Columns = []string{allColumns}
		return true
	}
	return decode(manyColumns, r, n, path, &s.Columns)
}

func (s *Statistic) columns() string {
	switch {
	case !s.many:
		return ""
	case len(s.Columns) == 1:
		return allColumns
	}
	return encode(manyColumns, &s.Columns)
}

func (s *Statistic) readBounds(r *report, n *node, path string) bool {
	if n.Kind == scalarNode && n.Text == "private" {
		s.Bounds.Private = true
		return true
	}
	if !s.kind().takes("columns") || n.Kind != listNode || len(n.Items) == 0 || n.Items[0].Kind != listNode {
		return s.Bounds.read(r, n, path, endsFormat.says+", or private")
	}
	var ok bool
	s.Each, ok = decodeItems[Interval](r, interval, n, path)
	return ok
}

func (s *Statistic) bounds() string {
	switch {
	case s.Bounds.Private:
		return "private"
	case s.Bounds.Given():
		return s.Bounds.String()
	case len(s.Each) == 0:
		return ""
	}
	return encodeItems(interval, s.Each)
}

// BoundsOf returns the bounds of the statistic's i-th column.
func (s *Statistic) BoundsOf(i int) Interval {
	if len(s.Each) > 0 {
		return s.Each[i]
	}
	return s.Bounds.Interval
}

// interval is the format of [low, high].
var interval = form[Interval]{schema: endsFormat.Schema(), write: (*Interval).String, read: func(b *Interval, r *report, n *node, path string) bool {
	return b.read(r, n, path, endsFormat.says)
}}

// read reads a list of two numbers, of which the first is the lower one. Messages expect expected.
func (b *Interval) read(r *report, n *node, path, expected string) bool {
	ends, format := []float64(nil), endsFormat
	format.says = expected
	if !decode(format, r, n, path, &ends) {
		return false
	}
	*b = Interval{ends[0], ends[1]}
	if !b.Given() {
		r.Addf(n.At, path, "found %s and %s, expected a low end below the high one", encodeNumber(b.Low), encodeNumber(b.High))
	}
	return b.Given()
}

// Given reports whether the interval was given: its low end is below the high one.
func (b Interval) Given() bool { return b.Low < b.High }

// readQueries reads the counts of a search, which have no mechanism and share of their own.
func (s *Statistic) readQueries(r *report, n *node, path string) bool {
	if n.Kind != listNode || len(n.Items) == 0 || len(n.Items) > maxQueries {
		return r.Expected(n, path, fmt.Sprintf("a list of 1 to %d counts such as {column: age, range: [65, 120]}", maxQueries), "")
	}
	var ok bool
	s.Queries, ok = decodeItems[Statistic](r, query(), n, path)
	for _, q := range s.Queries {
		if len(q.Columns) == 1 && !slices.Contains(s.Columns, q.Columns[0]) {
			s.Columns = append(s.Columns, q.Columns[0])
		}
	}
	return ok
}

// query returns the format of one of the counts of a search.
func query() form[Statistic] {
	return form[Statistic]{read: (*Statistic).readQuery, write: func(q *Statistic) string { return q.flow(q.kind().keys) }}
}

func (s *Statistic) readQuery(r *report, n *node, path string) bool {
	*s = Statistic{Kind: StatCount, Share: 1, Trust: Curator, at: n.At, path: path}
	if n.Kind != mappingNode {
		return r.Expected(n, path, "a count such as {column: age, range: [65, 120]}", "")
	}
	return s.decode(r, n, "a count of a search", s.kind().keys) && s.complete(r, n)
}

// complete reports what is missing or does not go together, and fills in a missing mechanism.
func (s *Statistic) complete(r *report, n *node) bool {
	k := s.kind()
	local := slices.Contains(LocalMechanisms, s.Mechanism)
	wrong := func(key, format string, args ...any) bool { return r.Addf(n.At, s.path+key, format, args...) }
	const nothing = "found nothing, expected %s"
	switch {
	case s.Kind == StatAboveThreshold && len(s.Queries) == 0:
		return wrong(".queries", nothing, "a list of counts such as [{column: age, range: [65, 120]}]")
	case s.Kind == StatAboveThreshold && find(n, []string{"threshold"}) == nil:
		return wrong(".threshold", nothing, thresholdFormat.Expected()+": the number that a count has to reach")
	case len(s.Columns) == 0 && k.takes("column"):
		return wrong(".column", nothing, "the name of a column")
	case len(s.Columns) == 0:
		return wrong(".columns", nothing, manyColumns.Expected())
	case s.Kind == StatCount && (s.Equals == "") != s.Range.Given():
		given := "neither equals nor range"
		if s.Range.Given() {
			given = "equals and range"
		}
		return wrong("", "found %s, expected equals (a class) or range ([low, high]): the number of all records is public", given)
	case len(s.Each) > 0 && !s.many:
		return wrong(".bounds", "found a list of pairs for one column, expected [low, high], or private")
	case s.Kind == StatQuantiles && s.Quantiles == nil:
		return wrong(".quantiles", nothing, "a list of numbers such as [0.25, 0.5, 0.75]")
	case s.Kind == StatMedian && s.Step == 0:
		return wrong(".step", nothing, stepFormat.Expected()+": by how much one record may move the median")
	case s.Kind == StatMean && s.many && s.Mechanism != "" && s.Mechanism != Gaussian:
		return wrong(".mechanism", "found %s, expected %s for several columns, which are released as one vector", s.Mechanism, Gaussian)
	case s.Trust == Curator && local:
		return wrong(".mechanism", "found %s, expected it only with trust shuffler or nobody", s.Mechanism)
	case s.Trust != Curator && s.Mechanism != "" && !local:
		return wrong(".mechanism", "found %s, expected one of %s with trust %s", s.Mechanism, strings.Join(LocalMechanisms, ", "), s.Trust)
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
		return wrong(".interval", "found a share of the cost for intervals, expected it only with one of %s", strings.Join(choiceMechanisms, ", "))
	}
	return true
}

// Chosen reports whether the statistic is quantiles by a mechanism that chooses among candidates.
func (s *Statistic) Chosen() bool {
	return s.Kind == StatQuantiles && slices.Contains(choiceMechanisms, s.Mechanism)
}

// The share of the cost of quantiles that goes into their intervals where a file leaves it out, and
// the mechanism is one of choice: in files that people write, and in those that earlier runs kept.
const (
	Intervals        = 0.2
	earlierIntervals = 0.5
)

// Many reports whether the columns were given as a list: the result is then a list, too.
func (s Statistic) Many() bool { return s.many }

// String returns the statistic as a flow mapping of YAML.
func (s Statistic) String() string { return s.flow(s.kind().all()) }

// flow returns the statistic as a flow mapping of those keys that are not left out.
func (s *Statistic) flow(keys []string) string {
	own := slices.DeleteFunc(s.arguments(), func(a setting.Argument) bool { return !slices.Contains(keys, a.Name) })
	return "{" + encodeArguments(written(own, (&Statistic{Trust: Curator}).arguments())) + "}"
}

// String returns the interval as a list in YAML, [low, high].
func (b Interval) String() string {
	return fmt.Sprintf("[%s, %s]", encodeNumber(b.Low), encodeNumber(b.High))
}

// Middle returns the middle of the interval.
func (b Interval) Middle() float64 { return b.Low + b.Half() }

// Half returns half the length of the interval.
func (b Interval) Half() float64 { return (b.High - b.Low) / 2 }

// Nearest returns the number of the interval that is nearest to x; its middle if x is NaN.
func (b Interval) Nearest(x float64) float64 {
	if math.IsNaN(x) {
		return b.Middle()
	}
	return min(max(x, b.Low), b.High)
}
