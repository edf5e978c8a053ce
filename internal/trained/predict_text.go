package trained

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
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
	if p.tokenizer == nil {
		var err error
		if p.tokenizer, err = p.model.tokens(); err != nil {
			return nil, err
		}
	}
	return data.NewTexts(p.tokenizer, p.model.Data.Shape.Length(), p.model.Data.Names, make([]uint8, len(texts)), texts)
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

// tokens returns the tokenizer that the model was trained with. Its file may also lie in the folder
// of the run, so that a folder can be taken elsewhere. Another file than that of the statement is
// refused.
func (m *Model) tokens() (data.Tokenizer, error) {
	spec := m.Config.Data.Spec
	if spec.Tokenizer != "" {
		if inRun := filepath.Join(m.Dir, filepath.Base(spec.Tokenizer)); folder.HoldsAny(m.Dir, filepath.Base(spec.Tokenizer)) {
			spec.Tokenizer = inRun
		}
	}
	t, err := spec.Tokens()
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	empty, err := data.NewTexts(t, 1, m.Data.Names, []uint8{0}, []string{""})
	if err != nil {
		return nil, err
	}
	if sum := empty.Tokenizer(); sum != "" && !slices.ContainsFunc(m.Statement.Facts, func(f statement.Fact) bool { return strings.Contains(f.Value, sum) }) {
		return nil, fmt.Errorf("predict: %w: found the tokenizer %s with the SHA-256 %s, expected the one that %s names", data.ErrInvalid, spec.Tokenizer, sum, filepath.Join(m.Dir, folder.StatementData))
	}
	return t, nil
}
