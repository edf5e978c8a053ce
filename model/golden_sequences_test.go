package model_test

import (
	"testing"

	"dpsgd/internal/tiny"
	"dpsgd/model"
)

// goldenSequences are the networks of testdata/sequences.py.
var goldenSequences = map[string]model.Sequential{
	"transformers": {model.Embedding{Width: 6}, model.PositionalEmbedding{},
		model.TransformerEncoder{Heads: 2, FeedForward: 8, NormFirst: true, Activation: "gelu"},
		model.TransformerEncoder{Heads: 3, FeedForward: 5, Causal: true, Activation: "relu"}, model.MeanOverSequence{}, model.Linear{Out: 3}},
	"lstm": {model.Embedding{Width: 4}, model.LSTM{Recurrent: model.Recurrent{Hidden: 3, Bidirectional: true}},
		model.LSTM{Recurrent: model.Recurrent{Hidden: 4, Last: true}}, model.Linear{Out: 3}},
	"gru": {model.Embedding{Width: 4}, model.GRU{Recurrent: model.Recurrent{Hidden: 3}},
		model.GRU{Recurrent: model.Recurrent{Hidden: 2, Bidirectional: true, Last: true}}, model.Linear{Out: 3}},
	"patches": {model.PatchEmbedding{Patch: 4, Out: 6}, model.ClassToken{}, model.PositionalEmbedding{Sinusoidal: true}, model.Attention{Heads: 2},
		model.ELU{Alpha: 0.7}, model.Linear{Out: 5}, model.LeakyReLU{Slope: 0.1}, model.LayerNorm{}, model.FirstOfSequence{}, model.Linear{Out: 3}},
}

// PyTorch computes the same logits, losses, per-example gradients and three steps of training from
// the same tensors, of sequences that it sees without padding.
func TestSequencesEqualPyTorch(t *testing.T) {
	g := readGolden(t, "sequences.json")
	if len(g.Networks) != len(goldenSequences) {
		t.Fatalf("found %d networks, expected %d", len(g.Networks), len(goldenSequences))
	}
	for _, want := range g.Networks {
		t.Run(want.Name, func(t *testing.T) {
			in := model.Input{Length: 9, Vocabulary: 7}
			if want.Name == "patches" {
				in = model.Input{Height: 8, Width: 8, Channels: 2}
			}
			want.check(t, tiny.Must(model.New(goldenSequences[want.Name], in, 3, 1))(t), g.Source)
		})
	}
}
