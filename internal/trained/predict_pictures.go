package trained

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dpsgd/data"
	"dpsgd/data/pictures"
)

// chunk is how many examples are read before they are predicted together.
const chunk = 256

// List returns the pictures that paths stand for, in order: files as they are, and all pictures in
// folders and below them. others counts what else lies there. Hidden names are skipped. The error
// matches data.ErrMissing if a path is not there or a folder has no picture.
func List(paths []string) (files []string, others pictures.Others, err error) {
	others = pictures.Others{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("train: %w: %w", data.ErrMissing, err)
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		found, err := below(path, others)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, found...)
	}
	return files, others, nil
}

// below lists the pictures below a folder, in the order of their names; others counts other files.
func below(folder string, others pictures.Others) (found []string, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(e.Name(), ".") && path != folder; {
		case err != nil:
			return err
		case hidden && e.IsDir():
			return filepath.SkipDir
		case hidden || e.IsDir():
		case pictures.Known(e.Name()):
			found = append(found, path)
		default:
			others.Add(e.Name())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("train: %w: %w", data.ErrInvalid, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("train: %w: found no picture in the folder %s or below it, expected %s", data.ErrMissing, folder, pictures.Extensions())
	}
	return found, nil
}

// Pictures predicts files in their order and hands each answer to visit. If one cannot be read, the
// others are predicted all the same; the error names it and matches data.ErrInvalid.
func (p *Predictor) Pictures(ctx context.Context, files []string, visit func(Answer) error) error {
	if p.model.Sees() != Pictures {
		return p.refuse("pictures")
	}
	var broken []error
	for len(files) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(chunk, len(files))
		b, err := p.batch(files[:n], visit)
		if err != nil {
			return err
		}
		broken, files = append(broken, b...), files[n:]
	}
	return summary(broken)
}

// batch predicts a few files, and returns an error for each that cannot be read.
func (p *Predictor) batch(files []string, visit func(Answer) error) (broken []error, err error) {
	shape := p.model.Data.Shape
	size := shape.Values()
	pixels, wrong := make([]uint8, len(files)*size), make([]error, len(files))
	p.pool.Run(len(files), 1, func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			wrong[i] = pictures.Read(files[i], pictures.Size(shape), pixels[i*size:(i+1)*size])
		}
	})
	// What could be read moves to the front.
	var names []string
	for i, file := range files {
		if wrong[i] != nil {
			broken = append(broken, fmt.Errorf("train: %w: picture %s: %w", data.ErrInvalid, file, wrong[i]))
			continue
		}
		copy(pixels[len(names)*size:], pixels[i*size:(i+1)*size])
		names = append(names, file)
	}
	logits, err := p.pixels(pixels[:len(names)*size], len(names))
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		a, err := p.answer(name, 0, logits[i])
		if err == nil {
			err = visit(a)
		}
		if err != nil {
			return nil, err
		}
	}
	return broken, nil
}

// pixels returns the logits of n pictures that have the size of the training examples.
func (p *Predictor) pixels(pixels []uint8, n int) ([][]float32, error) {
	if n == 0 {
		return nil, nil
	}
	set, err := data.NewImages(p.model.Data.Shape, p.model.Data.Names, make([]uint8, n), pixels)
	if err != nil {
		return nil, err
	}
	return p.Logits(set)
}

// One predicts a picture of at most maxPixels pixels, which the answer calls name. The error
// matches data.ErrInvalid if the picture cannot be read.
func (p *Predictor) One(name string, r io.ReadSeeker, maxPixels int) (Answer, error) {
	if p.model.Sees() != Pictures {
		return Answer{}, p.refuse("pictures")
	}
	pixels := make([]uint8, p.model.Data.Shape.Values())
	if err := pictures.Decode(r, maxPixels, pictures.Size(p.model.Data.Shape), pixels); err != nil {
		return Answer{}, fmt.Errorf("train: %w: the picture: %w", data.ErrInvalid, err)
	}
	logits, err := p.pixels(pixels, 1)
	if err != nil {
		return Answer{}, err
	}
	return p.answer(name, 0, logits[0])
}

// named is how many broken files an error names.
const named = 10

// summary joins errors about files, a line each, and names the first ones alone if there are many.
func summary(broken []error) error {
	if len(broken) > named {
		more := fmt.Errorf("train: %w: and %d more pictures that cannot be read", data.ErrInvalid, len(broken)-named)
		broken = append(broken[:named:named], more)
	}
	return errors.Join(broken...)
}

// refuse returns the error for an input, found, of another kind than the model was trained on.
func (p *Predictor) refuse(found string) error {
	what := map[Kind]string{
		Pictures: "pictures",
		Rows:     "a table, one .csv file with the columns that the run was trained on",
		Texts:    "texts, .txt files with one in each line, .csv, .jsonl or .parquet files",
		Vectors:  "vectors that another program computed: export the model to use it there",
	}[p.model.Sees()]
	return fmt.Errorf("%w: found %s, expected for the model of %s %s", ErrInput, found, p.model.Dir, what)
}
