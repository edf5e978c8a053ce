package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpsgd/accountant"
	"dpsgd/accountant/theorems"
	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/tiny"
	"dpsgd/release"
	"dpsgd/release/answer"
)

// people are records of two numbers and a class, drawn from a public seed.
func people(t testing.TB, n int) *data.Split {
	t.Helper()
	draw := rand.New(rand.NewPCG(1, 2))
	values, labels := make([]float32, 2*n), make([]uint8, n)
	for i := range n {
		age := min(110, max(0, 45+20*draw.NormFloat64()))
		values[2*i], values[2*i+1] = float32(age), float32(300*age+10000*draw.ExpFloat64())
		if draw.Float64() < 0.2 {
			labels[i] = 1
		}
	}
	classes := []string{"no", "yes"}
	train := tiny.Must(data.NewRows(2, classes, labels, values))(t)
	test := tiny.Must(data.NewRows(2, classes, labels[:1], values[:2]))(t)
	return &data.Split{Name: "people", Train: train, Test: test}
}

// file asks for statistics of people.
func file(t testing.TB, epsilon float64, list ...string) *configs.StatisticsFile {
	t.Helper()
	src := fmt.Sprintf("data: {table: people, columns: [age, income], label: sick, classes: ['no', 'yes']}\nprivacy: {epsilon: %g, delta: 1e-7}\nstatistics:\n- %s\n",
		epsilon, strings.Join(list, "\n- "))
	return tiny.Must(configs.ParseStatistics("people.yaml", []byte(src), nil))(t)
}

// planned is a plan for n records.
func planned(t testing.TB, f *configs.StatisticsFile, n int) *plan {
	t.Helper()
	p, err := newPlan(f, n)
	if err != nil {
		t.Fatalf("%s: %v", f.YAML(), err)
	}
	return p
}

// answered is a statistic's estimate, with the events that it pays.
func answered(t testing.TB, a *asked, set data.Set, f *configs.StatisticsFile) (estimate, []accountant.Entry) {
	t.Helper()
	paper := new(release.MemoryJournal)
	e, err := a.answer(&work{records: records{set, f.Config, set.Len()}, desk: answer.NewDesk(paper, nil)})
	if err != nil {
		t.Fatalf("%s: %v", f.YAML(), err)
	}
	return e, paper.Ledger().Entries()
}

// truth computes a statistic without noise, by its definition.
func truth(s configs.Statistic, set *data.Rows) []float64 {
	n := float64(set.Len())
	numbers := map[string][]float64{}
	for i := range set.Len() {
		for c, name := range []string{"age", "income"} {
			b := s.Bounds.Interval
			if len(s.Each) > 0 {
				b = s.Each[c]
			}
			numbers[name] = append(numbers[name], b.Nearest(float64(set.Values(i)[c])))
		}
	}
	mean := func(xs []float64) (sum float64) {
		for _, x := range xs {
			sum += x / n
		}
		return sum
	}
	covariance := func(xs, ys []float64) (sum float64) {
		for i := range xs {
			sum += (xs[i] - mean(xs)) * (ys[i] - mean(ys)) / n
		}
		return sum
	}
	x := numbers[s.Columns[0]]
	switch s.Kind {
	case configs.StatCount:
		count := 0.0
		for i := range set.Len() {
			if v := float64(set.Values(i)[0]); s.Range.Given() && s.Range.Low <= v && v <= s.Range.High || !s.Range.Given() && set.Label(i) == 1 {
				count++
			}
		}
		return []float64{count}
	case configs.StatSum:
		return []float64{n * mean(x)}
	case configs.StatMean:
		if s.Many() { // all of them
			return []float64{mean(numbers["age"]), mean(numbers["income"])}
		}
		return []float64{mean(x)}
	case configs.StatVariance:
		return []float64{covariance(x, x)}
	case configs.StatAboveThreshold:
		for i, q := range s.Queries {
			if truth(q, set)[0] >= float64(s.Threshold) {
				return []float64{float64(i + 1)}
			}
		}
		return []float64{0}
	case configs.StatCovariance:
		y := numbers[s.Columns[1]]
		return []float64{covariance(x, x), covariance(x, y), covariance(y, x), covariance(y, y)}
	case configs.StatMedian:
		slices.Sort(x)
		return []float64{x[(len(x)+1)/2-1]}
	case configs.StatQuantiles:
		slices.Sort(x)
		var out []float64
		for _, q := range s.Quantiles {
			out = append(out, x[int(math.Ceil(q*n))-1])
		}
		return out
	case configs.StatHistogram:
		if s.Bins == 0 {
			yes := truth(configs.Statistic{Kind: configs.StatCount, Columns: []string{"label"}}, set)[0]
			return []float64{n - yes, yes}
		}
		counts := make([]float64, s.Bins)
		for _, v := range x {
			counts[bucket(v, s.Bounds.Interval, s.Bins)]++
		}
		return counts
	}
	return nil
}

// every is one statistic of every kind by every mechanism.
func every() (list []string) {
	noises := []string{"discrete_laplace", "laplace", "discrete_gaussian", "gaussian"}
	for _, m := range noises {
		list = append(list,
			"{statistic: count, column: sick, equals: 'yes', mechanism: "+m+"}",
			"{statistic: count, column: age, range: [18, 65], mechanism: "+m+"}",
			"{statistic: sum, column: age, bounds: [0, 100], mechanism: "+m+"}",
			"{statistic: mean, column: income, bounds: [0, 50000], mechanism: "+m+"}",
			"{statistic: variance, column: age, bounds: [0, 100], mechanism: "+m+"}",
			"{statistic: histogram, column: label, mechanism: "+m+"}",
			"{statistic: histogram, column: age, bounds: [0, 100], bins: 5, mechanism: "+m+"}",
			"{statistic: quantiles, column: age, bounds: [0, 100], bins: 50, quantiles: [0.1, 0.5], mechanism: "+m+"}",
		)
	}
	for _, m := range []string{"permute_and_flip", "exponential", "noisy_max"} {
		list = append(list, "{statistic: quantiles, column: age, bounds: [0, 100], bins: 50, quantiles: [0.1, 0.5], mechanism: "+m+"}")
	}
	for _, m := range configs.LocalMechanisms {
		list = append(list, "{statistic: histogram, column: age, bounds: [0, 100], bins: 3, trust: nobody, mechanism: "+m+"}")
	}
	return append(list,
		"{statistic: median, column: age, bounds: [0, 100], step: 10}",
		"{statistic: histogram, column: label, trust: shuffler}",
		// Counts of 0, 0 and most of 2,000: noise makes another one the first once in 10^30.
		"{statistic: above_threshold, queries: [{column: age, range: [200, 300]}, {column: age, range: [-9, -1]}, {column: age, range: [18, 120]}, {column: sick, equals: 'no'}], threshold: 1000}",
		"{statistic: mean, columns: all, bounds: [0, 1000]}",
		"{statistic: mean, columns: all, bounds: [[0, 100], [0, 100000]]}",
		"{statistic: covariance, columns: [age, income], bounds: [[0, 100], [0, 100000]]}",
		"{statistic: covariance, columns: [age, income], bounds: [0, 1000]}")
}

// discreteSum reports whether the accountants know of a statistic a Rényi divergence alone, and so
// do not take it together with mixed reports, of which only an (ε, δ) is known.
func discreteSum(s configs.Statistic) bool {
	return s.Mechanism == configs.DiscreteGaussian && s.Kind != configs.StatCount && s.Kind != configs.StatHistogram
}

// Every interval holds the true value in at least 95 % of draws, by the law of its noise: of 300
// draws at most 50 may miss, and of 3,000 at most 245, which a chance of 5 % passes once in 10^13.
// Where the interval is exact, of one noise, at least 50 of 3,000 miss, so that it is no wider than
// it says: with a chance of 4 %, as laws on integers have, fewer come once in 10^13; with half of
// the noise, by which a quarter of a percent would miss, as many come once in 10^24.
func TestIntervalsHoldTheData(t *testing.T) {
	people := people(t, 2000)
	for _, text := range every() {
		f := file(t, 0.3, text)
		a := &planned(t, f, 2000).asked[0]
		want := truth(a.Statistic, people.Train.(*data.Rows))
		misses := make([]int, len(want))
		exact := a.Kind == configs.StatCount || a.Kind == configs.StatSum
		draws, least, most := 300, 0, 50
		if exact {
			draws, least, most = 3000, 50, 245
		}
		for range draws {
			e, _ := answered(t, a, people.Train, f)
			if len(e.value) != len(want) || e.one != (len(want) == 1) {
				t.Fatalf("%s: found %d numbers (one: %v), expected %d", text, len(e.value), e.one, len(want))
			}
			for i := range want {
				if e.low[i] > e.value[i] || e.value[i] > e.high[i] {
					t.Fatalf("%s: found the value %g outside of its interval %g to %g", text, e.value[i], e.low[i], e.high[i])
				}
				if want[i] < e.low[i]-1e-9*math.Abs(want[i]) || want[i] > e.high[i]+1e-9*math.Abs(want[i]) {
					misses[i]++
				}
			}
		}
		for i, n := range misses {
			if n < least || n > most {
				t.Errorf("%s: number %d is missed in %d of %d draws, expected %d to %d", text, i, n, draws, least, most)
			}
		}
	}
}

// What a record contributes is within its bound, whatever it holds.
func TestContributionsAreBounded(t *testing.T) {
	b := configs.Interval{Low: -1, High: 3}
	draw := rand.New(rand.NewPCG(3, 4))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -1e300, 0, -1, 3, 1, 5e-324} {
		if s := steps(x, b); s < -resolution || s > resolution {
			t.Errorf("%g is %d steps, expected within ±%d", x, s, resolution)
		}
		if i := bucket(x, b, 7); i < 0 || i > 6 {
			t.Errorf("%g is in bucket %d, expected 0 to 6", x, i)
		}
	}
	for range 10000 {
		d := 1 + draw.IntN(6)
		y := make([]float64, d)
		for i := range y {
			y[i] = []float64{-1, 1, 2*draw.Float64() - 1}[draw.IntN(3)]
		}
		pairs := float64(d * (d - 1) / 2)
		contribution := make([]int64, d+d+int(pairs))
		products(contribution, y)
		l1, l2 := 0.0, 0.0
		for _, c := range contribution {
			l1, l2 = l1+math.Abs(float64(c)), l2+float64(c)*float64(c)
		}
		if l1 > resolution*(1.5*float64(d)+pairs) || math.Sqrt(l2) > math.Ceil(resolution*math.Sqrt(1.25*float64(d)+pairs)) {
			t.Fatalf("%v contributes %v, longer than the bound", y, contribution)
		}
	}
}

// All together cost the budget and no more, and more noise than that is not added; each gets noise
// by its share.
func TestBudgetIsSharedOut(t *testing.T) {
	f := file(t, 1, append(every(), "{statistic: count, column: sick, equals: 'yes', share: 10}")...)
	f.Statistics = slices.DeleteFunc(f.Statistics, discreteSum)
	p := planned(t, f, 2000)
	all := tiny.Must(p.dry(records{config: f.Config, public: 2000}, p.asked[0].factor))(t)
	g, err := p.accounts.Guarantee(all, p.budget.Delta)
	if err != nil || !g.Within(p.budget) || g.Epsilon < 0.997 {
		t.Errorf("found %v (%v), expected ε 0.997 to 1", g, err)
	}
	first, last := &p.asked[0], &p.asked[len(p.asked)-1]
	small, _, _ := p.cost(first)
	large, _, _ := p.cost(last)
	if math.Abs(large/small-10) > 1e-9 || p.asked[0].factor >= 1 {
		t.Errorf("found ε %g and %g and a factor of %g, expected ten times as much and less noise than apart", small, large, p.asked[0].factor)
	}
	for i := range p.asked {
		epsilon, delta, err := p.cost(&p.asked[i])
		if err != nil || epsilon <= 0 || epsilon > 1 || (delta > 0) != p.asked[i].approximate() {
			t.Errorf("%s costs (%g, %g), %v, expected an ε within the budget, and a δ where there is one", p.asked[i], epsilon, delta, err)
		}
	}
}

// Every statistic spends what its result says, in its events and in no more of them: a mechanism
// that takes twice its share makes all noise grow until the budget holds, and would print half.
func TestPrintedCostIsSpent(t *testing.T) {
	reports := asked{Statistic: configs.Statistic{Mechanism: "unary", Trust: configs.Shuffler}, delta: 1e-6}
	each := tiny.Must(reports.protocol(&work{records: records{public: 1000}}, 4, 0.5))(t).Epsilon()
	if together := tiny.Must(theorems.Shuffle(each, 1000, 1e-6))(t); together > 0.5 {
		t.Errorf("found reports of ε = %v, which have %v together, expected at most 0.5", each, together)
	}
	people := people(t, 2000)
	for _, text := range append(every(), "{statistic: quantiles, column: age, bounds: [0, 100], quantiles: [0.1, 0.5]}") {
		f := file(t, 0.3, text)
		p := planned(t, f, 2000)
		a := &p.asked[0]
		epsilon, delta, err := p.cost(a)
		tiny.Check(t, err)
		_, events := answered(t, a, people.Train, f)
		if planned := a.releases.Entries(); !slices.Equal(events, planned) {
			t.Errorf("%s: found the events %v, expected those of the plan, %v", text, events, planned)
		}
		if more := tiny.Must(p.releases.With(events[0].Event, 1))(t); !account.Holds(p.releases, p.releases) || account.Holds(p.releases, more) {
			t.Errorf("%s: the plan does not hold itself, or holds one more of %v", text, events[0].Event)
		}
		sum, deltas := 0.0, 0.0
		for _, entry := range events {
			n := float64(entry.Count)
			switch e := entry.Event.(type) {
			case accountant.DiscreteLaplace:
				sum += n / e.Scale
			case accountant.Laplace:
				sum += n / e.Scale
			case accountant.BoundedRange:
				sum += n * e.Range
			case accountant.AddOrRemoveDP:
				sum, deltas = sum+n*e.Epsilon, deltas+n*e.Delta
			case accountant.ApproxDP:
				sum, deltas = sum+n*e.Epsilon, deltas+n*e.Delta
			case accountant.Gaussian: // what the noise of one release is calibrated to, here all of the budget
				if len(events) > 1 || n > 1 || math.Abs(e.NoiseMultiplier/a.multiplier-a.factor) > 1e-9 {
					t.Errorf("%s: found %v, expected one event with the multiplier %g", text, events, a.multiplier*a.factor)
				}
				sum, deltas = epsilon, delta
			case accountant.DiscreteGaussian:
				if len(events) > 1 || n > 1 || e.NoiseMultiplier < a.multiplier*a.factor*(1-1e-9) {
					t.Errorf("%s: found %v, expected one event with at least the multiplier %g", text, events, a.multiplier*a.factor)
				}
				sum, deltas = epsilon, delta
			default:
				t.Fatalf("%s: found the event %T, expected one that this test knows", text, e)
			}
		}
		if math.Abs(sum-epsilon) > 1e-9 || math.Abs(deltas-delta) > 1e-15 || epsilon > 0.3*1.0001 && !gaussian(a.Mechanism) && !a.Chosen() {
			t.Errorf("%s: spends (%g, %g) and prints (%g, %g), expected the same, within ε 0.3", text, sum, deltas, epsilon, delta)
		}
	}
}

// Columns have bounds of their own, so that the one with the widest does not drown the others: the
// variance of ages, 374, was 8.3e6 with the bounds of an income.
func TestCovarianceOfColumnsOfTheirOwn(t *testing.T) {
	people := people(t, 2000)
	for _, text := range []string{"bounds: [[0, 100], [0, 100000]]", "bounds: [0, 100000]"} {
		f := file(t, 1, "{statistic: covariance, columns: [age, income], "+text+"}")
		e, _ := answered(t, &planned(t, f, 2000).asked[0], people.Train, f)
		// The width of an interval follows from its noise, and hardly differs from draw to draw.
		if width := e.high[0] - e.low[0]; (width < 400) != (strings.Contains(text, "[[")) {
			t.Errorf("%s: the variance of ages is %g, in an interval %g wide, expected less than 400 with bounds of its own alone", text, e.value[0], width)
		}
	}
}

// A result has exactly these keys, and numbers, lists and nothing read back.
func TestKeysOfAResult(t *testing.T) {
	for _, r := range []Result{
		{Statistic: "count", Column: "age", Value: Numbers{[]float64{3}, true}, Low: Numbers{[]float64{1}, true}, High: Numbers{[]float64{5}, true}, Mechanism: "laplace", Epsilon: 1},
		{Statistic: "histogram", Column: "age", Value: Numbers{List: []float64{1}}, Low: Numbers{List: []float64{1}}, High: Numbers{List: []float64{1}}, Mechanism: "laplace", Epsilon: 1, Delta: 1e-7},
		{Statistic: "count", Column: "age", Mechanism: "laplace", Epsilon: 1},
	} {
		text := tiny.Must(json.Marshal(r))(t)
		var keys map[string]any
		tiny.Check(t, json.Unmarshal(text, &keys))
		for _, key := range []string{"statistic", "column", "value", "low", "high", "mechanism", "epsilon", "delta"} {
			if _, ok := keys[key]; !ok {
				t.Errorf("%s has no %s", text, key)
			}
			delete(keys, key)
		}
		var again Result
		if err := json.Unmarshal(text, &again); err != nil || len(keys) > 0 || fmt.Sprint(again) != fmt.Sprint(r) || again.Lost() != r.Lost() {
			t.Errorf("%s has more keys %v or reads back as %v (%v)", text, keys, again, err)
		}
	}
}

// Bounds that are found are rungs of a public ladder and hold almost all records: with ε 2 and
// 2,000 records the searches cut off at most 1 % on each side but for one draw in 10^12.
func TestPrivateBounds(t *testing.T) {
	people := people(t, 2000)
	f := file(t, 8, "{statistic: mean, column: income, bounds: private}", "{statistic: variance, column: income, bounds: private}")
	results := finished(t, create(t, f, Options{}))
	if len(results) != 3 || results[0].Statistic != "bounds" {
		t.Fatalf("found %v, expected bounds, a mean and a variance", results)
	}
	low, high := results[0].Value.List[0], results[0].Value.List[1]
	inside := 0
	for i := range people.Train.Len() {
		if x := float64(people.Train.(*data.Rows).Values(i)[1]); low <= x && x <= high {
			inside++
		}
	}
	if !slices.Contains(ladder(), low) || !slices.Contains(ladder(), high) || inside < 1920 || high > 1<<20 || low < -1<<20 {
		t.Errorf("found bounds %g to %g with %d of 2,000 records, expected rungs of the ladder around at least 1,920", low, high, inside)
	}
	if m := results[1]; m.Low.List[0] > 25000 || m.High.List[0] < 20000 {
		t.Errorf("found a mean of %v to %v, expected about 23,000", m.Low, m.High)
	}
}

// A median is there if records are dense around it, and not where one could move it far: with ε 2.5
// the test needs some 18 records (2·ln(1/δ)/ε, δ = 1e-10), and those around the median are within 1
// or not within 0.0001; noise makes it wrong less than once in 10^9 draws.
func TestMedianOfATest(t *testing.T) {
	for step, want := range map[string]bool{"2": false, "0.0001": true} {
		r := create(t, file(t, 2.5, "{statistic: median, column: age, bounds: [0, 100], step: "+step+"}"), Options{})
		if results := finished(t, r); results[0].Refused != want || results[0].Lost() || results[0].Delta != 1e-10 {
			t.Errorf("step %s: found %+v, expected no answer: %v", step, results[0], want)
		}
		again := open(t, r)
		if again.rows[0].Refused != want {
			t.Errorf("step %s: found %+v again, expected no answer: %v", step, again.rows, want)
		}
		again.Close()
	}
}

// Columns of pictures and of computed features are read by their meaning.
func TestColumnsOfPicturesAndVectors(t *testing.T) {
	f := tiny.Must(configs.ParseStatistics("a", []byte("data: {folder: f, classes: [a, b], size: [1, 2], channels: 3}\nprivacy: {epsilon: 1}\nstatistics: [{statistic: mean, column: brightness}]"), nil))(t)
	pictures := tiny.Must(data.NewImages(data.Shape{Height: 1, Width: 2, Channels: 3}, []string{"a", "b"}, []uint8{1}, []uint8{255, 0, 51, 255, 0, 102}))(t)
	for name, want := range map[string]float64{"brightness": 0.4333, "red": 1, "green": 0, "blue": 0.3, "pixel 0 1 2": 0.4} {
		c := tiny.Must(configs.ColumnOf(f.Config, name))(t)
		if x := (record{pictures, 0}).number(c); math.Abs(x-want) > 1e-4 {
			t.Errorf("%s is %g, expected %g", name, x, want)
		}
	}
	vectors := tiny.Must(data.NewFeatures(2, []string{"a", "b"}, []uint8{0}, []uint16{0x3c00, 0xc000}))(t) // 1 and -2
	if x := (record{vectors, 0}).number(configs.Column{Indices: []int{1}}); x != -2 {
		t.Errorf("the second value is %g, expected -2", x)
	}
}
