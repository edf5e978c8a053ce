package kernel

import (
	"os"
	"strings"
	"testing"
)

func TestSelectKernel(t *testing.T) {
	fast := &kernelSet{name: "fast"}
	supported := []*kernelSet{fast, &portableKernel}
	for _, c := range []struct{ name, want, err string }{
		{"", "fast", ""},
		{"fast", "fast", ""},
		{"portable", "portable", ""},
		{"faster", "fast", `kernel: DPSGD_KERNEL is "faster", expected one that this machine supports (fast, portable); running fast`},
	} {
		k, err := selectKernel(c.name, supported)
		if k.name != c.want {
			t.Errorf("%q selects %s, want %s", c.name, k.name, c.want)
		}
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: error %v, want %q", c.name, err, c.err)
		}
	}
}

func TestSelected(t *testing.T) {
	name, err := Selected()
	if forced := os.Getenv(environment); err == nil && forced != "" && name != forced {
		t.Errorf("selected %s, %s is %s", name, environment, forced)
	}
	if last := supportedKernels()[len(supportedKernels())-1]; last != &portableKernel {
		t.Errorf("the last resort is %s, want portable", last.name)
	}
	t.Logf("running %s; %s", name, strings.Join(supportedNames(), ", "))
}

func supportedNames() []string {
	var names []string
	for _, k := range supportedKernels() {
		names = append(names, k.name)
	}
	return names
}
