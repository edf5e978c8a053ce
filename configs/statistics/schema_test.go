package statistics

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite schema.json")

func TestSchemaIsCurrent(t *testing.T) {
	if *update {
		if err := os.WriteFile("schema.json", Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("schema.json")
	if err != nil || !bytes.Equal(got, Schema()) {
		t.Errorf("schema.json is not current (%v); run go test ./configs/statistics -update", err)
	}
}
