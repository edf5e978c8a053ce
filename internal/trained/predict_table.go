package trained

import (
	"context"
	"fmt"
	"os"

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
	t := &table{predictor: p, path: path, visit: visit}
	reader, err := vectors.NewRecordReader(path, file)
	if err == nil {
		t.columns, err = reader.FindAll(p.model.Config.Data.Columns)
	}
	if err == nil {
		_, err = reader.Each(func(record []string) error { return t.add(ctx, reader, record) })
	}
	switch {
	case t.failed != nil:
		return t.failed
	case err != nil:
		return fmt.Errorf("predict: %w: %w", data.ErrInvalid, err)
	}
	return t.flush()
}

// table is a file being predicted, chunk rows at a time.
type table struct {
	predictor *Predictor
	path      string
	visit     func(Answer) error
	columns   []int
	values    []float32
	rows      int   // in values
	before    int   // rows that were predicted
	failed    error // of the context, a prediction or visit, not of reading
}

// add takes in one record, and predicts when there are chunk of them.
func (t *table) add(ctx context.Context, r *vectors.RecordReader, record []string) error {
	for _, at := range t.columns {
		v, err := r.Number(record, at)
		if err != nil {
			return err
		}
		t.values = append(t.values, v)
	}
	if t.rows++; t.rows < chunk {
		return nil
	}
	if t.failed = ctx.Err(); t.failed == nil {
		t.failed = t.flush()
	}
	return t.failed
}

// flush predicts the records that were added.
func (t *table) flush() error {
	if t.rows == 0 {
		return nil
	}
	p := t.predictor
	set, err := data.NewRows(len(t.columns), p.model.Data.Names, make([]uint8, t.rows), t.values)
	if err != nil {
		return err
	}
	logits, err := p.Logits(set)
	if err != nil {
		return err
	}
	for i, row := range logits {
		a, err := p.answer(t.path, t.before+i+1, row)
		if err == nil {
			err = t.visit(a)
		}
		if err != nil {
			return err
		}
	}
	t.before, t.rows, t.values = t.before+t.rows, 0, nil
	return nil
}
