package trained

import (
	"context"
	"fmt"
	"os"
	"slices"

	"dpsgd/data"
	"dpsgd/data/vectors"
)

// Table predicts the records of a file of comma-separated values and hands each answer to visit. It
// finds the columns of the training data by name; the column with the class may be missing.
func (p *Predictor) Table(ctx context.Context, path string, visit func(Answer) error) error {
	if p.model.Sees() != Rows {
		return p.refuse("a table")
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("predict: %w: %w", data.ErrMissing, err)
	}
	defer file.Close()
	reader, err := vectors.NewRecordReader(path, file)
	var columns []int
	if err == nil {
		columns, err = reader.FindAll(p.model.Config.Data.Columns)
	}
	if err != nil {
		return fmt.Errorf("predict: %w: %w", data.ErrInvalid, err)
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
		return fmt.Errorf("predict: %w", err)
	}
	return flush()
}
