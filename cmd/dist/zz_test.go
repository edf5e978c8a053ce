package main
import ("testing";"fmt")
func TestZZ(t *testing.T) {
	for _, p := range platforms {
		c := contents(t, p.String())
		a, _ := c.Archive(); w, _ := c.Wheel(); d, _ := c.Debian()
		fmt.Println(p, shA256(a), shA256(w), shA256(d))
	}
}
