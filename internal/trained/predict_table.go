package trained

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpsgd/data"
	"dpsgd/data/vectors"
	"dpsgd/internal/folder"
	"dpsgd/internal/statement"
)

// Table predicts the records of a file of comma-separated values and hands each answer to visit. It
// finds the columns of the training data by name; the column with the class may be missing.
func (p *Predictor) Table(ctx context.Context, path string, visit func(Answer) error) error {
	if p.model.Sees() != Rows {
		return p.refuse("a table")
	}
	file, err := data.OpenFile(path)
	if err != nil {
		return fmt.Errorf("train: %w", err)
	}
	defer file.Close()
	reader, err := vectors.NewRecordReader(path, file)
	var columns []int
	if err == nil {
		columns, err = reader.FindAll(p.model.Config.Data.Columns)
	}
	if err != nil {
		return fmt.Errorf("train: %w: %w", data.ErrInvalid, err)
	}
	set := func(rows [][]float32) (data.Set, error) {
		return data.NewRows(len(columns), p.model.Data.Names, make([]uint8, len(rows)), slices.Concat(rows...))
	}
	return inChunks(ctx, p, path, set, visit, func(add func([]float32) error) error {
		_, err := reader.Each(func(record []string) (err error) {
			row := make([]float32, len(columns))
			for i, at := range columns {
				if row[i], err = reader.Number(record, at); err != nil {
					return err
				}
			}
			return add(row)
		})
		if err != nil {
			err = fmt.Errorf("%w: %w", data.ErrInvalid, err)
		}
		return err
	})
}

// inChunks predicts the examples of a file, which read calls add with, and hands each answer to
// visit. Of chunk examples at a time, set makes a set.
func inChunks[E any](ctx context.Context, p *Predictor, path string, set func([]E) (data.Set, error), visit func(Answer) error, read func(add func(E) error) error) error {
	var held []E
	before := 0 // examples that were predicted
	flush := func() error {
		if err := ctx.Err(); err != nil || len(held) == 0 {
			return err
		}
		examples, err := set(held)
		if err != nil {
			return err
		}
		logits, err := p.Logits(examples)
		for i := 0; err == nil && i < len(logits); i++ {
			var a Answer
			if a, err = p.answer(path, before+i+1, logits[i]); err == nil {
				err = visit(a)
			}
		}
		before, held = before+len(held), held[:0]
		return err
	}
	var failed error // of the context, a prediction or visit, not of reading
	err := read(func(e E) error {
		if held = append(held, e); len(held) == chunk {
			failed = flush()
		}
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return fmt.Errorf("train: %w", err)
	}
	return flush()
}

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
func (p *Predictor) texts(texts []string) (set data.Set, err error) {
	if p.tokenizer == nil {
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

// Tokenizer returns the path of a run's tokenizer: in the run's folder if it lies there, or as given.
func Tokenizer(dir, file string) string {
	if file != "" && folder.HoldsAny(dir, filepath.Base(file)) {
		return filepath.Join(dir, filepath.Base(file))
	}
	return file
}

// tokens returns the tokenizer of the statement, and no other one.
func (m *Model) tokens() (data.Tokenizer, error) {
	spec := m.Config.Data.Spec
	spec.Tokenizer = Tokenizer(m.Dir, spec.Tokenizer)
	t, err := spec.Tokens()
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	empty, err := data.NewTexts(t, 1, m.Data.Names, []uint8{0}, []string{""})
	if err != nil {
		return nil, err
	}
	return t, CheckTokenizer(m.Dir, spec.Tokenizer, empty.Tokenizer())
}

// CheckTokenizer refuses a file of a tokenizer with another SHA-256 than the statement of a run
// names; sum is "" where there is none.
func CheckTokenizer(dir, file, sum string) error {
	if sum == "" {
		return nil
	}
	s, err := statement.Read(dir)
	if err == nil && !slices.ContainsFunc(s.Facts, func(f statement.Fact) bool { return strings.Contains(f.Value, sum) }) {
		err = fmt.Errorf("train: %w: found the tokenizer %s with the SHA-256 %s, expected the one that %s names", data.ErrInvalid, file, sum, filepath.Join(dir, folder.StatementData))
	}
	return err
}
