package trained

import (
	"context"

	"dpsgd/data"
)

// Texts predicts the texts of a file and hands each answer to visit: the lines of a .txt file, or
// the column or key with the text of a .csv, .parquet or .jsonl file, as [data.ReadTexts] finds it.
func (p *Predictor) Texts(ctx context.Context, path string, visit func(Answer) error) error {
	if p.model.Sees() != Texts {
		return p.refuse("texts")
	}
	return inChunks(ctx, p, path, p.texts, visit, func(add func(string) error) error {
		return data.ReadTexts(p.model.Config.Data.Spec, path, add)
	})
}

// texts makes a set of texts without classes.
func (p *Predictor) texts(texts []string) (data.Set, error) {
	tokenizer, err := p.model.Config.Data.Tokens()
	if err != nil {
		return nil, err
	}
	return data.NewTexts(tokenizer, p.model.Data.Shape.Length(), p.model.Data.Names, make([]uint8, len(texts)), texts)
}

// Text predicts one text. The answer names no file.
func (p *Predictor) Text(text string) (Answer, error) {
	set, err := p.texts([]string{text})
	if err != nil {
		return Answer{}, err
	}
	logits, err := p.Logits(set)
	if err != nil {
		return Answer{}, err
	}
	return p.answer("", 0, logits[0])
}
