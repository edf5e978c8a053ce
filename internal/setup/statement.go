package setup

import (
	"fmt"
	"path/filepath"

	"dpsgd/configs"
	"dpsgd/data"
	"dpsgd/features"
	"dpsgd/internal/statement"
)

// Sees adds to a statement what the network learns about examples, where that is no class, and what
// it sees in their place: tokens, vectors or features.
func (o Outline) Sees(c *configs.Config, s *statement.Statement) {
	if task := c.Data.Task(); task != data.Class {
		s.Task = task
	}
	if o.Tokenizer != "" {
		s.Facts = append(s.Facts, statement.Fact{Name: "Tokens", Value: fmt.Sprintf("as %s with the SHA-256 `%s` cuts texts, which is declared as public: nothing of it was learnt from them", filepath.Base(c.Data.Tokenizer), o.Tokenizer)})
	}
	if c.Data.Vectors != "" {
		s.NotPrivate = append(s.NotPrivate, "what computed the vectors that the network sees: each is taken as a function of one example, and if that function was learnt from the training examples, the guarantee does not cover what it tells of them")
	}
	if !c.Features.Any() {
		return
	}
	s.Features = c.Features.Recipe.String()
	if _, learnt := c.Features.Transform.(*features.Backbone); learnt {
		s.NotPrivate = append(s.NotPrivate, "what the weights behind the features tell of the data that they were trained on: they count as public; if training examples of this run were among them, the guarantee does not hold for those")
	}
}

// trainedOn maps a declaration about initial weights to what the statement says: what they were
// trained on, and what the guarantee does not cover.
var trainedOn = map[string]struct{ what, notCovered string }{
	"public":  {"public data", "what the initial weights tell of the data that they were trained on, which is declared as public; if training examples of this run were among them, the guarantee does not hold for those"},
	"private": {"PRIVATE data", "what the initial weights tell of the PRIVATE data that they were trained on: the model of this run begins with them and passes that on, and this statement covers the steps of this run alone. If that training was private, its guarantee adds to this one for whoever is in both sets"},
	"nothing": {"nothing", "the initial weights, which are declared as trained on nothing: if they were trained on examples of anybody, the guarantee does not cover what they tell of those"},
}

// OfWeights adds to a statement where a run's initial weights come from; hash is their SHA-256.
func OfWeights(m configs.Model, hash string, s *statement.Statement) {
	declared := trainedOn[m.InitTrainedOn]
	s.InitialWeights = fmt.Sprintf("%s; all weights at the start have the SHA-256 `%s`, declared as trained on %s", filepath.Base(m.Init), hash, declared.what)
	s.NotPrivate = append(s.NotPrivate, declared.notCovered)
}
