package source_test

import (
	"fmt"

	"dpsgd/configs/internal/source"
)

func Example() {
	var r source.Report
	root := source.Read(&r, source.Start("my.yaml"), []byte("epochs: 010\nseed: &s 1\n"))
	epochs := root.Entries[0]
	r.Expected(epochs.Value, epochs.Key, "a whole number", epochs.Value.IntegerHint())
	fmt.Println(r.Err())
	// Output:
	// my.yaml:1:9: epochs: found 010, expected a whole number (a leading zero means octal to some readers)
	// my.yaml:2:7: seed: found an anchor (&), expected plain YAML without it
}
