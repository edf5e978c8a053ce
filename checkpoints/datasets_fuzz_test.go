package checkpoints

import (
	"bytes"
	"testing"
)

// The fuzzer damages real ledgers of data sets. Whatever is accepted reads the same again up to
// where it ended.
func FuzzReadDatasets(f *testing.F) {
	var b book
	var c chain
	file := b.formatHeader()
	must(0, b.addLine(1, file[:len(file)-1]))
	c.formatHeader(b.id)
	add := func(line []byte, err error) {
		must(0, err)
		must(0, b.addLine(b.lines+1, line[:len(line)-1]))
		file = append(file, line...)
	}
	add(b.formatRegister(&c, testRegistration))
	for step := range 3 {
		line, r, err := c.format(step+1, event(float64(step+1)))
		must(0, err)
		add(b.formatRelease(&c, line))
		must(0, c.add(r))
	}
	add(b.formatRegister(&c, testRegistration))
	f.Add(file)
	f.Add(file[:len(file)-1])
	f.Add(file[:len(file)/2])
	f.Fuzz(func(t *testing.T, file []byte) {
		var b, again book
		e, err := b.read(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, m := range b.order {
			if m.chain.entries != m.chain.ledger.Count() {
				t.Fatalf("%d entries, %d events", m.chain.entries, m.chain.ledger.Count())
			}
		}
		kept := bytes.TrimSuffix(file[:min(int(e.size), len(file))], []byte("\n"))
		if _, err := again.read(bytes.NewReader(append(bytes.Clone(kept), '\n'))); err != nil || again.head != b.head {
			t.Fatalf("the kept part reads differently: %v", err)
		}
	})
}
