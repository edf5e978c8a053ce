package configs_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// An error about a layer or a key stands behind the place of that, and matches what it matched.
func TestPlaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	tiny.Write(t, file, "# mine\nmodel:\n  layers:\n    - flatten\n    - conv2d: {out_channels: 3, kernel_size: 3}\n    - residual:\n        body: [relu]\n")
	other := errors.New("other")
	at := func(layer string) error {
		return fmt.Errorf("outer: %w", &model.LayerError{Layer: layer, Problem: "is wrong"})
	}
	key := func(name string) error {
		return fmt.Errorf("outer: %w", &configs.KeyError{Key: name, Problem: "is wrong"})
	}
	for _, tt := range []struct {
		err       error
		file      string
		overrides []string
		want      string
	}{
		{at("1"), file, nil, file + ":5:7: model.layers[1]: layer 1: is wrong"},
		{at("2.body.0"), file, []string{"model.init=x"}, file + ":6:7: model.layers[2]: layer 2.body.0: is wrong"},
		{at("1"), file, []string{"model.layers=[relu]"}, "--set model.layers[1]: layer 1: is wrong"},
		{at("7"), file, nil, "outer: layer 7: is wrong"},
		{at("1"), "digits", nil, "outer: layer 1: is wrong"},
		{key("model.layers"), file, nil, file + ":4:5: model.layers is wrong"},
		{key("model.layers"), file, []string{" model.layers=[relu]"}, "--set model.layers is wrong"},
		{key("privacy.delta"), file, nil, file + ": privacy.delta is wrong (the file does not say it)"},
		{key("privacy.delta"), "digits", nil, "outer: privacy.delta is wrong"},
		{other, file, nil, "other"},
	} {
		err := configs.Placed(tt.err, tt.file, tt.overrides)
		if !errors.Is(err, tt.err) || err.Error() != tt.want {
			t.Errorf("found %v, expected %s", err, tt.want)
		}
	}
	if configs.Placed(nil, file, nil) != nil {
		t.Error("no error became one")
	}
}
