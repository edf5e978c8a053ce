package trained

import (
	"context"
	"fmt"

	"dpsgd/data"
)

// Texts predicts the texts of a file and hands each answer to visit: the lines of a .txt file, or
// the column or key with the text of a .csv or .jsonl file, as [data.ReadTexts] finds it.
func (p *Predictor) Texts(ctx context.Context, path string, visit func(Answer) error) error {
	if p.model.Sees() != Texts {
		return p.refuse("texts")
	}
	var texts []string
	before := 0
	flush := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		answers, err := p.answerTexts(path, before, texts)
		for _, a := range answers {
			if err == nil {
				err = visit(a)
			}
		}
		before, texts = before+len(texts), texts[:0]
		return err
	}
	var failed error
	err := data.ReadTexts(p.model.Config.Data.Spec, path, func(text string) error {
		if texts = append(texts, text); len(texts) == chunk {
			failed = flush()
		}
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return fmt.Errorf("predict: %w", err)
	}
	return flush()
}

// answerTexts predicts texts of a file, which stand in it behind so many others.
func (p *Predictor) answerTexts(file string, before int, texts []string) (answers []Answer, err error) {
	if len(texts) == 0 {
		return nil, nil
	}
	tokenizer, err := p.model.Config.Data.Tokens()
	if err != nil {
		return nil, err
	}
	set, err := data.NewTexts(tokenizer, p.model.Data.Shape.Length(), p.model.Data.Names, make([]uint8, len(texts)), texts)
	if err != nil {
		return nil, err
	}
	logits, err := p.Logits(set)
	for i := 0; err == nil && i < len(texts); i++ {
		var a Answer
		a, err = p.answer(file, before+i+1, logits[i])
		answers = append(answers, a)
	}
	return answers, err
}
