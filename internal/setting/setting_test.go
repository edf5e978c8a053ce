package setting_test

import (
	"encoding/json"
	"math"
	"testing"

	"dpsgd/internal/setting"
)

// brush is a thing with one argument of every format.
type brush struct {
	width float64
	angle float64
	hairs int
	seed  uint64
	dry   bool
	shape string
}

func (b *brush) Arguments() []setting.Argument {
	return []setting.Argument{
		{Name: "width", Format: setting.Number{Min: 0, Max: 10, OpenMin: true}, Value: &b.width, Required: true},
		{Name: "angle", Format: setting.Number{Min: -1e300, Max: 1e300}, Value: &b.angle},
		{Name: "hairs", Format: setting.Integer{Min: 1, Max: 500, Word: "many", WordValue: -1, WordMeans: "uncounted"}, Value: &b.hairs},
		{Name: "seed", Format: setting.Integer{Min: 0, Max: 1 << 53}, Value: &b.seed},
		{Name: "wet", Format: setting.Boolean{Negated: true}, Value: &b.dry},
		{Name: "shape", Format: setting.Choice{"flat", "round"}, Value: &b.shape},
	}
}

func (*brush) Name() string { return "brush" }

var brushes = setting.Kinds[*brush]{setting.KindOf(func() *brush { return &brush{width: 1, hairs: 100, shape: "flat"} })}

// Every text that a format accepts is stored, and is written again in one way.
func TestFormatsReadWhatTheyWrite(t *testing.T) {
	for _, tt := range []struct{ name, text, written string }{
		{"width", "0.50", "0.5"}, {"width", "1e-5", "1.0e-5"}, {"width", "10", "10"},
		{"angle", "0", "0"}, {"angle", "-1", "-1"}, {"angle", "1E5", "100000"}, {"angle", "1.5e+3", "1500"}, {"angle", "12345678901234567890", "1.2345678901234567e+19"},
		{"angle", "1e21", "1.0e+21"}, {"angle", "1.5e-10", "1.5e-10"}, {"angle", "0.0001", "0.0001"}, {"angle", "0.1", "0.1"}, {"angle", "1e-5", "1.0e-5"},
		{"hairs", "500", "500"}, {"hairs", "many", "many"}, {"seed", "9007199254740992", "9007199254740992"},
		{"wet", "true", "true"}, {"wet", "false", "false"}, {"shape", "round", "round"},
	} {
		kind, _ := brushes.Named("brush")
		a := setting.Find(setting.Arguments(kind.New()), tt.name)
		s := a.Format.(setting.Scalar)
		if !s.Parse(tt.text, false, a.Value) || s.Encode(a.Value) != tt.written {
			t.Errorf("%s: %s is written %s, expected %s", tt.name, tt.text, s.Encode(a.Value), tt.written)
		}
	}
}

// What a format refuses leaves the value as it was.
func TestRefusedTextChangesNothing(t *testing.T) {
	for name, texts := range map[string][]string{
		"width": {"", "0", "-0", "11", "1e400", "1e-400", "nan", ".5", "010", "many"},
		"angle": {"", "-", "+1", "01", "-01", ".5", "5.", "1e", "e5", "1_0", "0x1", "0o7", "0b1", "1e400", "1e-400", "nan", ".inf", "Infinity", "1,5", "1:30", "½", "١", "1 2", " 1", "true"},
		"hairs": {"0", "501", "1.0", "1e2", "+1", "99999999999999999999", "Many"},
		"seed":  {"-1", "many"},
		"wet":   {"yes", "True", ""},
		"shape": {"square", "Flat", ""},
	} {
		for _, text := range texts {
			kind, _ := brushes.Named("brush")
			b := kind.New()
			a := setting.Find(setting.Arguments(b), name)
			if a.Format.(setting.Scalar).Parse(text, false, a.Value) || *b != *kind.New() {
				t.Errorf("%s accepts %q: %+v", name, text, *b)
			}
		}
	}
}

func TestCheckNamesTheFirstBadValue(t *testing.T) {
	kind, known := brushes.Named("brush")
	if _, other := brushes.Named("roller"); !known || other {
		t.Fatal("the table does not know its names")
	}
	if err := setting.Check("brush", kind.New()); err != nil {
		t.Errorf("a new one is refused: %v", err)
	}
	for want, b := range map[string]brush{
		"width of brush is 0, expected a number greater than 0 and at most 10":                  {hairs: 1},
		"width of brush is NaN, expected a number greater than 0 and at most 10":                {width: math.NaN()},
		"hairs of brush is -2, expected a whole number from 1 to 500, or many":                  {width: 1, hairs: -2},
		"shape of brush is square, expected one of flat, round":                                 {width: 1, hairs: -1, shape: "square"},
		"seed of brush is 9007199254740993, expected a whole number from 0 to 9007199254740992": {width: 1, hairs: 1, seed: 1<<53 + 1},
	} {
		// A struct that is not behind a pointer has the same arguments.
		for _, thing := range []any{b, &b} {
			if err := setting.Check("brush", thing); err == nil || err.Error() != want {
				t.Errorf("%T %+v: %v, expected %s", thing, b, err, want)
			}
		}
	}
	if setting.Arguments(nil) != nil || setting.Arguments(7) != nil {
		t.Error("a thing without arguments has some")
	}
}

func TestObjectKeepsItsOrder(t *testing.T) {
	o := setting.Object{"b", 1, "a", setting.Object{}, "c", []setting.Object{{"<", "&"}}}
	got, err := o.MarshalJSON()
	var v any
	if err != nil || json.Unmarshal(got, &v) != nil {
		t.Fatalf("%s is no JSON: %v", got, err)
	}
	compact, err := json.Marshal(v)
	if want := `{"a":{},"b":1,"c":[{"\u003c":"\u0026"}]}`; err != nil || string(compact) != want {
		t.Errorf("found %s, expected %s", compact, want)
	}
	if text := string(got); text[:4] != `{"b"` {
		t.Errorf("the order is lost in %s", text)
	}
}

// Hashes of plans are made of text with choices that were not made.
func TestWhatWasNotChosenIsQuoted(t *testing.T) {
	if got := (setting.Choice{"flat", "round"}).Encode(new(string)); got != `""` {
		t.Errorf("found %q, expected %q", got, `""`)
	}
}
