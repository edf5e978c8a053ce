package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"dpsgd/data"
)

// folderOf makes a folder with these files, empty unless they hold something.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "my data: 100%")
	for name, content := range files {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func made(t *testing.T, set string, epsilon float64) (Draft, *Config) {
	t.Helper()
	d := must(MakeDraft(set, epsilon))(t)
	c := must(Parse("made.yaml", d.Text, nil))(t)
	if c.Privacy.Epsilon != epsilon || strings.Count(string(d.Text), "# <-") != d.Open || strings.Contains(string(d.Text), "schema.json") {
		t.Errorf("ε %v with %d open lines, expected %v and %d:\n%s", c.Privacy.Epsilon, d.Open, epsilon, strings.Count(string(d.Text), "# <-"), d.Text)
	}
	return d, c
}

// Of the preset of a data set nothing is left to be changed, and it has its comments.
func TestNamedData(t *testing.T) {
	for name := range bestPreset {
		d, c := made(t, name, 1.5)
		if c.Data.Name != data.Find(name).Name || d.Open != 0 || !strings.Contains(string(d.Text), "  epsilon: 1.5 # ") {
			t.Errorf("%s: %s with %d open lines:\n%s", name, c.Data.Name, d.Open, d.Text)
		}
	}
}

// Pictures have the classes of their folders and a δ below one in their number.
func TestPictures(t *testing.T) {
	files := map[string]string{"train/.hidden/x.png": "", "train/notes.txt": "", "train/yes/notes.txt": ""}
	for i := range 120 {
		files[fmt.Sprintf("train/yes/%d.png", i)], files[fmt.Sprintf("train/a b/%d.png", i)] = "", ""
	}
	dir := folderOf(t, files)
	d, c := made(t, dir, 3)
	if c.Data.Folder != dir || strings.Join(c.Data.Classes, ",") != "a b,yes" || c.Privacy.Delta != 1e-5 || d.Open != 0 {
		t.Errorf("%+v at δ %v with %d open lines", c.Data, c.Privacy.Delta, d.Open)
	}
	if !strings.Contains(string(d.Text), "delta: 1.0e-5 # below 1 / number of training pictures") {
		t.Errorf("δ is written as in\n%s", d.Text)
	}
	for n, want := range map[int]float64{1: 1e-5, 50_000: 1e-5, 99_999: 1e-5, 100_000: 1e-6, 1_281_167: 1e-7} {
		if found := deltaFor(n); found != want || found >= 1/float64(n) {
			t.Errorf("δ %v for %d pictures, expected %v", found, n, want)
		}
	}
}

// Of a table the columns are known, and what they mean is left to be said.
func TestTableAndVectors(t *testing.T) {
	d, c := made(t, folderOf(t, map[string]string{"train.csv": "\ufeffage, \"net pay\",sick\r\n1,2,no\n"}), 3)
	if strings.Join(c.Data.Columns, ",") != "age,net pay" || c.Data.Label != "sick" || d.Open != 6 {
		t.Errorf("%+v with %d open lines:\n%s", c.Data, d.Open, d.Text)
	}
	if d, c = made(t, folderOf(t, map[string]string{"train.npy": ""}), 3); c.Data.Vectors == "" || d.Open != 4 {
		t.Errorf("%+v with %d open lines:\n%s", c.Data, d.Open, d.Text)
	}
}

// Texts are known by the name of a column, by a word in front of the folder, by lines of objects and
// by files .txt. A table's first line alone is read: a second one that is damaged changes nothing.
func TestTexts(t *testing.T) {
	for name, c := range map[string]struct {
		files               map[string]string
		column, label, list string
		open                int
	}{
		"two columns, said":  {map[string]string{"train.csv": "name,sex\n\"secret,f\n"}, "", "", "no,yes", 3},
		"more columns, said": {map[string]string{"train.csv": "name,age,sex\nsecret,1,f\n"}, "name", "sex", "no,yes", 3},
		"two columns":        {map[string]string{"train.csv": "sex,Text\nf,secret\n"}, "Text", "sex", "no,yes", 3},
		"a column named":     {map[string]string{"train.csv": "id,stars,Review\n1,5,secret\n"}, "Review", "id", "no,yes", 3},
		"lines":              {map[string]string{"train.jsonl": "secret"}, "", "", "no,yes", 3},
		"folders":            {map[string]string{"train/bad/1.txt": "secret", "train/good/1.txt": "", "train/good/.x": "", "train/good/.y": ""}, "", "", "bad,good", 1},
	} {
		dir, mark := folderOf(t, c.files), ""
		if strings.HasSuffix(name, ", said") {
			mark = TextsMark
		}
		d, made := made(t, mark+dir, 3)
		if made.Data.Text != dir || made.Data.Column != c.column || made.Data.Label != c.label || strings.Join(made.Data.Classes, ",") != c.list || d.Open != c.open || strings.Contains(string(d.Text), "secret") || name == "folders" && made.Training.BatchSize != 1 {
			t.Errorf("%s: %+v with %d open lines, expected %+v:\n%s", name, made.Data, d.Open, c, d.Text)
		}
	}
}

// A Parquet file holds texts if a column has the name of one, or somebody says so, and else vectors.
func TestParquet(t *testing.T) {
	dir := folderOf(t, map[string]string{"train.parquet": ""})
	if _, c := made(t, dir, 3); c.Data.Vectors != dir {
		t.Errorf("found %+v of a damaged file, expected vectors", c.Data)
	}
	file := filepath.Join(dir, "train.parquet")
	check(t, parquet.WriteFile(file, []struct{ Review, Kind string }{{"secret", "good"}}))
	if d, c := made(t, dir, 3); c.Data.Text != dir || c.Data.Column != "Review" || d.Open != 3 || strings.Contains(string(d.Text), "secret") {
		t.Errorf("%+v with %d open lines:\n%s", c.Data, d.Open, d.Text)
	}
	check(t, parquet.WriteFile(file, []struct{ X, Y float32 }{{1, 2}}))
	if _, c := made(t, dir, 3); c.Data.Vectors != dir {
		t.Errorf("found %+v, expected vectors", c.Data)
	}
}

// What is no data is refused in one line.
func TestNoData(t *testing.T) {
	semicolons := folderOf(t, map[string]string{"train.csv": "\"age\"; \"sick\"\n1;no\n"})
	found := map[string]string{semicolons: "train.csv:1:1: found names separated by semicolons, expected commas", "no-such-folder": "no data set and no folder \"no-such"}
	for _, a := range []struct {
		set     string
		epsilon float64
	}{
		{"", 3}, {"no-such-folder", 3}, {t.TempDir(), 3}, {folderOf(t, map[string]string{"train/one/1.png": ""}), 3}, {folderOf(t, map[string]string{"train.csv": "one\n"}), 3},
		{"digits", 0}, {"digits", -1}, {semicolons, 3},
	} {
		if _, err := MakeDraft(a.set, a.epsilon); !errors.Is(err, errAnswer) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, expected one line that matches %v", a, err, errAnswer)
		} else if want := found[a.set]; !strings.Contains(err.Error(), want) {
			t.Errorf("found %v, expected %s", err, want)
		}
	}
}
