package digits_test

import (
	"fmt"
	"strings"

	"dpsgd/data/digits"
)

// The first training picture of seed 1, every second row of it.
func Example() {
	var d digits.Drawer
	pixels := make([]uint8, digits.Side*digits.Side)
	label := d.Draw(pixels, 1, digits.Train, 0)
	fmt.Println("a", label)
	for row := 0; row < digits.Side; row += 2 {
		var line strings.Builder
		for _, p := range pixels[row*digits.Side : (row+1)*digits.Side] {
			line.WriteByte(" .:#"[p/64])
		}
		fmt.Println(strings.TrimRight("|"+line.String(), " "))
	}
	// Output:
	// a 5
	// |
	// |       .####::.
	// |       :##::####:
	// |       .##.
	// |        ##:###:#:
	// |        :###:.:###.
	// |                :##:
	// |                 .##.
	// |        .##.     .##.
	// |         :####.  :##
	// |            :######:
	// |               .::.
	// |
	// |
}
