package train_test

import (
	"testing"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/internal/run"
	"dpsgd/internal/setting"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// A data set of somebody else's, from outside: this declaration is all.
func init() {
	err := data.Register(data.Dataset{
		Name: "quadrants", Doc: "points of the plane", Aliases: []string{"quads"},
		Shape: data.Row(2), Classes: []string{"same sign", "other sign"}, Train: 400, Test: 100,
		Load: func(set *data.Dataset, _ string, _ uint64) (*data.Split, error) {
			labels, values := make([]uint8, set.Train), make([]float32, 0, 2*set.Train)
			for i := range labels {
				x, y := float32(i%20)-9.5, float32(i/20)-9.5
				if x*y < 0 {
					labels[i] = 1
				}
				values = append(values, x, y)
			}
			train, err := data.NewRows(2, set.Classes, labels, values)
			if err != nil {
				return nil, err
			}
			test, err := data.NewRows(2, set.Classes, labels[:set.Test], values[:2*set.Test])
			return &data.Split{Train: train, Test: test}, err
		},
	})
	if err != nil {
		panic(err)
	}
}

func TestRegisteredDatasetIsKnownEverywhere(t *testing.T) {
	_, err := configs.Parse("quads.yaml", []byte("data: {name: quads}\nprivacy: {epsilon: 3}"), nil)
	if want := "quads.yaml:1:14: data.name: found quads, expected " + setting.Choice(data.Names()).Expected() + " (did you mean quadrants?)"; err == nil || err.Error() != want {
		t.Errorf("found error %v, expected %s", err, want)
	}
	c := tiny.Must(configs.Parse("quadrants.yaml", []byte("data: {name: quadrants, mean: [-1, 0], std: [5]}\nmodel: {name: mlp}\n"+
		"privacy: {epsilon: 3, delta: 1e-3, accountant: rdp}\ntraining: {batch_size: 50, steps: 5}"), nil))(t)
	if d, err := train.Describe(c, 0); err != nil || d.Data.Examples != 400 || d.Data.Shape != data.Row(2) {
		t.Errorf("described as %+v, %v", d, err)
	}
	r := tiny.Must(train.Create(c, train.Options{Options: run.Options{RunsDir: t.TempDir(), Name: "quadrants"}}))(t)
	defer r.Close()
	if result, err := r.Fit(t.Context()); err != nil || result.Steps != 5 {
		t.Errorf("found %+v, %v", result, err)
	}
}
