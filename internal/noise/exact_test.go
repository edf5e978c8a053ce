package noise

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// script is a source of words given beforehand.
type script struct {
	t     *testing.T
	words []uint64
	after uint64 // what follows them, if endless
	count int

	endless bool
}

func (s *script) Uint64() uint64 {
	s.count++
	if len(s.words) == 0 {
		if !s.endless {
			s.t.Fatal("more words are read than the result depends on")
		}
		return s.after
	}
	w := s.words[0]
	s.words = s.words[1:]
	return w
}

func expansionOf(words ...uint64) *expansion {
	e := &expansion{}
	for _, w := range words {
		e.extend(w)
	}
	return e
}

const allOnes = math.MaxUint64

// Computed with mpmath 1.3.0 at 1,500 digits: r = sqrt(-2*log(u)), r*cos(2*pi*t) and r*sin(2*pi*t)
// for u and t in the middle of the numbers that begin with these words.
var goldenPairs = []struct {
	name     string
	u, theta []uint64
	x, y     string
}{
	{"typical", []uint64{0xb9096a04e7d80068, 0xc963cfe0afae5a3b}, []uint64{0xe1454c40c439f34a, 0x26b563b1e794ee14},
		"5.87246210559531535095770750641253022e-1", "-5.51713340438125620216380341057137044e-1"},
	{"first quarter turn passed", []uint64{0xac8be7d742840d2b, 0xd96e5adfa2beee31}, []uint64{0x4000000000000005, 0x19fcfc64e7aa8576},
		"-1.54348993442677611657697517988461551e-18", "8.88268700622626576653657575642030663e-1"},
	{"third eighth", []uint64{0x53d23c0bdf43efb2, 0xe7ca430e92ac3d42}, []uint64{0x6000000000000000, 0x0},
		"-1.05664144480525366432360006327086272", "1.05664144480525366432360006327086272"},
	{"just before it", []uint64{0x6e82a012b5c5cd1, 0x6820212c69599354}, []uint64{0x5fffffffffffffff, 0xffffffffffffffff},
		"-1.90069930405724010041852937153482843", "1.90069930405724010041852937153482843"},
	{"last eighth", []uint64{0x1333bc1cfe6c2b03, 0x20050ed31a6e72b9}, []uint64{0xe000000000000000, 0x1},
		"1.60939689402095393746280809180778624", "-1.60939689402095393746280809180778624"},
	{"whole turn", []uint64{0x7972a36d51b31a6c, 0x94a67f00f335c357}, []uint64{0xffffffffffffffff, 0xfffffffffffffffe},
		"1.22122303663751584256538915724461141", "-3.38241327784090086689514467641231312e-38"},
	{"third quarter", []uint64{0x6977a41b730bed9c, 0x332726d0356a4152}, []uint64{0xbffffffffffffff7, 0xa0187b4d51209e8f},
		"-3.79880991144596188241297308888124280e-18", "-1.33174775294231706979875010333357665"},
	{"sqrt(1/2)", []uint64{0xb504f333f9de6485, 0xae6ac4a9e89c5bc7}, []uint64{0x542861cd55e7d67e, 0x17bcc74d6d683cf8},
		"-3.95303276533368246349154746429025430e-1", "7.32722662486925337174208191982125467e-1"},
	{"below it", []uint64{0xb504f333f9de6484, 0x8491cabea0afe356}, []uint64{0xd775f593ce3ad2b2, 0x67a9b05c7dfb27e8},
		"4.53340826994249176596817604357175836e-1", "-6.98304571902630139486596085464398453e-1"},
	{"tail, 9 deviations", []uint64{0x2f, 0x34d2ea1614daf467, 0x3e1dcfb592bde31c}, []uint64{0x33aa391808fc2081, 0x1570bc621832c9e2},
		"2.68352810123279703665360377230347842", "8.59141778117068711593943135605729210"},
	{"tail, 12 deviations", []uint64{0x0, 0x1036640, 0x40e0529930b9f609}, []uint64{0xc3b1b366b1852ac8, 0x4e18a3634891a61b},
		"1.08708411562059090999785802526583434", "-1.19568590572547922342452669393097326e+1"},
	{"tail, 20 deviations", []uint64{0x0, 0x0, 0x0, 0x0, 0x3039, 0x41bc858eb0b4362e, 0x9fbba63829d144e4}, []uint64{0xe7db270d1e216216, 0x447e604605f9eb87},
		"1.70960321417287254246964178846845723e+1", "-1.15107700073933177497928428856731140e+1"},
	{"centre", []uint64{0xffffffffffffffff, 0xfffffffffffffffc, 0x3be4c78bb4ae3dd3}, []uint64{0xd756a407dbeece42, 0x92ed2607383c017b},
		"8.06370407231194782636698444136953425e-20", "-1.25029850270094182307964415277182911e-19"},
	{"centre of the centre", []uint64{0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff, 0x5, 0xe56d5813cd158af}, []uint64{0xcc8fc5260352a9bf, 0x9e1fcc46a5157170},
		"5.41649297773118209066103802765557083e-30", "-1.70082328902411036885474699590803057e-29"},
}

// Every calculation of normals is right to the digits of the golden numbers, at every precision.
func TestBoxMullerAgreesWithMpmath(t *testing.T) {
	tolerance := big.NewFloat(1e-35)
	for _, c := range goldenPairs {
		for digits := uint(leastDigits); digits <= mostDigits; digits *= 2 {
			x, y := boxMuller(expansionOf(c.u...), expansionOf(c.theta...), quarterOf(c.theta[0]), digits+guardDigits)
			for got, text := range map[*big.Float]string{x: c.x, y: c.y} {
				want, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
				if err != nil {
					t.Fatal(err)
				}
				difference := new(big.Float).Sub(got, want)
				limit := new(big.Float).Mul(tolerance, want)
				if difference.Abs(difference).Cmp(limit.Abs(limit)) > 0 {
					t.Errorf("%s at %d digits: %.36g, want %s", c.name, digits, got, text)
				}
			}
		}
	}
}

// The constants have every digit that is asked for: other formulas agree (Gauss: 12·arctan(1/18) +
// 8·arctan(1/57) - 5·arctan(1/239) is π/4; 18·artanh(1/26) - 2·artanh(1/4801) + 8·artanh(1/8749) is
// ln 2), with 400 digits more.
func TestConstantsHaveEveryDigit(t *testing.T) {
	sum := func(sign float64, terms ...float64) *big.Float {
		total := new(big.Float).SetPrec(mostDigits + 400)
		for i := 0; i < len(terms); i += 2 {
			x := new(big.Float).SetPrec(mostDigits+400).Quo(big.NewFloat(1), big.NewFloat(terms[i+1]))
			total.Add(total, x.Mul(big.NewFloat(terms[i]), arctan(x, sign)))
		}
		return total
	}
	for _, c := range []struct{ got, want *big.Float }{
		{pi(), sum(-1, 48, 18, 32, 57, -20, 239)},
		{ln2(), sum(1, 18, 26, -2, 4801, 8, 8749)},
	} {
		off := new(big.Float).Sub(c.want, c.got)
		if digits := c.want.MantExp(nil) - off.MantExp(nil); off.Sign() != 0 && digits < mostDigits+guardDigits {
			t.Errorf("%.20g has %d right digits, expected %d", c.got, digits, mostDigits+guardDigits)
		}
	}
}

// The precisions agree with each other: what one attempt finds lies within its error bound of what
// the last one finds.
func TestErrorBoundOfEveryAttempt(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 20 {
		var u, theta expansion
		for range 2 * mostDigits / 64 {
			u.extend(r.Uint64())
			theta.extend(r.Uint64())
		}
		quarter := new(big.Int).Rsh(&theta.digits, uint(theta.count-64)).Uint64()
		wantX, wantY := boxMuller(&u, &theta, quarterOf(quarter), mostDigits+guardDigits)
		for digits := leastDigits; digits < mostDigits; digits *= 2 {
			x, y := boxMuller(u.first(digits), theta.first(digits), quarterOf(quarter), uint(digits+guardDigits))
			bound := scaled(big.NewFloat(1), 10-digits)
			if x.Sub(x, wantX).Abs(x).Cmp(bound) > 0 || y.Sub(y, wantY).Abs(y).Cmp(bound) > 0 {
				t.Errorf("%d digits: off by %.3g and %.3g, want at most %.3g", digits, x, y, bound)
			}
		}
	}
}

// first returns the beginning of e with the given number of significant digits, in whole words.
func (e *expansion) first(digits int) *expansion {
	for count := 64; ; count += 64 {
		part := &expansion{count: count}
		part.digits.Rsh(&e.digits, uint(e.count-count))
		if part.significant() >= digits {
			return part
		}
	}
}

// A product that agrees with a half-way point to hundreds of digits is decided by the digit in
// which it differs, of the radius or of the angle, and by reading no more of them than that takes.
func TestExactPairDecidesCloseCalls(t *testing.T) {
	const zero, point = 0, 481036337473
	for _, c := range []struct {
		name          string
		deviation     float64
		radius, angle uint64
		words         []uint64
		x, y          float64
	}{
		// mpmath: u = exp(-((n + 1/2)/D)**2/2) for n = 3158073 and D = 2^20, in words.
		{"radius above", 0x1p20, 0x2beb97426b92624, zero, []uint64{0xb408f035d254dcc9, 0xacb434c319681fe, zero,
			allOnes, 1, zero, zero}, 3158073, 0},
		{"radius below", 0x1p20, 0x2beb97426b92624, zero, []uint64{0xb408f035d254dcc9, 0xacb434c319681fe, zero,
			zero, 1, zero, zero}, 3158074, 0},
		// theta = asin((n + 1/2)/(D*sqrt(2*log(2))))/(2*pi) for n = 481036337473 and D = 2^40; u =
		// 1/2, of which 1-u has a digit less, so that a word more of it is read.
		{"angle below", 0x1p40, 1 << 63, 0xf82eee3e7668c3e, []uint64{zero, zero, 0xd976d247d4e722c6,
			zero, zero, zero, allOnes}, 1201886470834, point},
		{"angle above", 0x1p40, 1 << 63, 0xf82eee3e7668c3e, []uint64{zero, zero, 0xd976d247d4e722c6,
			zero, zero, allOnes, zero}, 1201886470834, point + 1},
		{"third attempt, below", 0x1p40, 1 << 63, 0xf82eee3e7668c3e, []uint64{zero, zero, 0xd976d247d4e722c6,
			zero, zero, 0xb97ddd42d7981391, 0x2eee55914e1f9f42,
			zero, zero, zero, zero, zero, allOnes, zero, zero}, 1201886470834, point},
		{"third attempt, above", 0x1p40, 1 << 63, 0xf82eee3e7668c3e, []uint64{zero, zero, 0xd976d247d4e722c6,
			zero, zero, 0xb97ddd42d7981391, 0x2eee55914e1f9f42,
			zero, zero, zero, zero, allOnes, zero, zero, zero}, 1201886470834, point + 1},
	} {
		src := &script{t: t, words: c.words}
		x, y := exactPair(c.radius, c.angle, 0, 0, c.deviation, src)
		if x != c.x || y != c.y || len(src.words) > 0 {
			t.Errorf("%s: (%.0f, %.0f), want (%.0f, %.0f), with %d words unread", c.name, x, y, c.x, c.y, len(src.words))
		}
	}
}

// A broken source of equal bits ends too: beyond 75 deviations, or at the centre.
func TestExactPairEnds(t *testing.T) {
	for _, c := range []struct {
		word        uint64
		least, most float64
	}{{0, 75, 107}, {allOnes, 0, 0}} {
		src := &script{t: t, endless: true, after: c.word}
		x, y := exactPair(c.word, c.word, 0, 0, 1, src)
		if r := math.Hypot(x, y); r < c.least || r > c.most || src.count > 300 {
			t.Errorf("words %#x: (%g, %g) after %d words", c.word, x, y, src.count)
		}
	}
}

// The quarter turn of an angle is the nearest one, in all eighths of a turn: the series of sine and
// cosine are for an eighth at most, and with another quarter a pair would be another pair.
func TestQuarterIsTheNearest(t *testing.T) {
	for eighth := range uint64(8) {
		for _, rest := range []uint64{0, 1, 1 << 60, 1<<61 - 1} {
			angle := eighth<<61 + rest
			if off := float64(quarterOf(angle))/4 - float64(angle)*0x1p-64; !(math.Abs(off) <= 0.125) {
				t.Errorf("angle %#x: the quarter %d is %.3f turns away", angle, quarterOf(angle), off)
			}
			// The pair of a radius and this angle, of few enough spacings that nothing is in doubt.
			radius, theta := math.Sqrt(2*math.Ln2), 2*math.Pi*float64(angle)*0x1p-64
			x, y := exactPair(1<<63, angle, 0, 0, 1000, &script{t: t, after: 1 << 40, endless: true})
			if !(math.Abs(x-1000*radius*math.Cos(theta)) <= 0.501) || !(math.Abs(y-1000*radius*math.Sin(theta)) <= 0.501) {
				t.Errorf("angle %#x: the pair is %v, %v, expected %.2f, %.2f", angle, x, y, 1000*radius*math.Cos(theta), 1000*radius*math.Sin(theta))
			}
		}
	}
}
