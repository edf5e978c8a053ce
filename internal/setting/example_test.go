package setting_test

import (
	"fmt"

	"dpsgd/internal/setting"
)

// Lamp is a thing that can be configured.
type Lamp struct{ Watts float64 }

// Arguments binds each name to where its value is stored.
func (l *Lamp) Arguments() []setting.Argument {
	return []setting.Argument{{Name: "watts", Doc: "Power.", Format: setting.Number{Min: 0, Max: 60, OpenMin: true}, Value: &l.Watts}}
}

func Example() {
	lamps := setting.Kinds[*Lamp]{{Name: "lamp", Doc: "Gives light.", New: func() *Lamp { return &Lamp{Watts: 5} }}}
	kind, _ := lamps.Named("lamp")
	lamp := kind.New()
	watts := setting.Find(setting.Arguments(lamp), "watts")
	fmt.Println(watts.Format.(setting.Scalar).Parse("7.5", false, watts.Value), lamp.Watts)
	lamp.Watts = 100
	fmt.Println(setting.Check(kind.Name, lamp))
	// Output:
	// true 7.5
	// watts of lamp is 100, expected a number greater than 0 and at most 60
}
