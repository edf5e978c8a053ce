package data

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpsgd/internal/slow"
)

const goodTable = "id,age,pay,sick\n1,40,-2.5,no\n2,51.5,1e3,yes\n3, 7,0,\"no\"\n"

// table writes a folder with these files and declares its columns age and pay.
func table(t *testing.T, train, test string) Spec {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "people")
	write(t, []byte(train), folder, "train.csv")
	write(t, []byte(test), folder, "test.csv")
	return Spec{Table: folder, Columns: []string{"pay", "age"}, Label: "sick", Classes: []string{"yes", "no"}}
}

func TestTableIsReadByTheNamesOfItsColumns(t *testing.T) {
	for name, test := range map[string]string{
		"same order":      "id,age,pay,sick\n4,1,2,yes\n",
		"another order":   "sick,pay,more,age\nyes,2,x,1\n",
		"byte order mark": "\ufeff\"age\",pay,sick\n1,2,yes\n",
		"windows":         "age,pay,sick\r\n1,2,yes\r\n",
		"two-line name":   "\"note;\nfree\",age,pay,sick\nx,1,2,yes\n",
		"empty lines":     "age,pay,sick\n\n1,2,yes\n\n",
		"no last newline": "age,pay,sick\n1,2,yes",
	} {
		t.Run(name, func(t *testing.T) {
			spec := table(t, goodTable, test)
			s := must(Load(spec))
			if s.Name != "people" || s.Train.Shape() != Row(2) || s.Test.Shape() != Row(2) || !slices.Equal(s.Train.Classes(), spec.Classes) {
				t.Errorf("%s holds %v and %v of %q", s.Name, s.Train.Shape(), s.Test.Shape(), s.Train.Classes())
			}
			train, tests := s.Train.(*Rows), s.Test.(*Rows)
			if !slices.Equal(train.values, []float32{-2.5, 40, 1000, 51.5, 0, 7}) || !slices.Equal(train.labels, []uint8{1, 0, 1}) {
				t.Errorf("training rows are %v with labels %v", train.values, train.labels)
			}
			if !slices.Equal(tests.values, []float32{2, 1}) || !slices.Equal(tests.labels, []uint8{0}) {
				t.Errorf("test rows are %v with labels %v", tests.values, tests.labels)
			}
			if n, err := Count(spec, "train"); n != 3 || err != nil {
				t.Errorf("%d records, %v", n, err)
			}
		})
	}
}

// Every mistake is one line with its place, and no value of a record is in it.
func TestBrokenTables(t *testing.T) {
	const secret = "S3CRET"
	for name, c := range map[string]struct {
		file, says string
	}{
		"empty file":        {"", "train.csv is empty, expected the names of the columns in its first line"},
		"no record":         {"age,pay,sick\n", "train.csv holds no record, expected at least one"},
		"no header":         {secret + ",1,yes\n2,1,no\n", `train.csv:1:1: found no column "pay", expected it among the names in the first line`},
		"no label column":   {"age,pay\n1,2\n", `train.csv:1:1: found no column "sick"`},
		"column twice":      {"age,pay,pay,sick\n1,2,3,no\n", `train.csv:1:1: found column "pay" twice, expected it once`},
		"text":              {"age,pay,sick\n1,2,no\n30," + secret + ",no\n", `train.csv:3:4: column "pay": found text that is not a number, expected a finite decimal number such as 1234.5`},
		"empty field":       {"age,pay,sick\n1,,no\n", `train.csv:2:3: column "pay": found an empty field, expected a finite decimal number such as 1234.5`},
		"NaN":               {"age,pay,sick\nnan,2,no\n", `train.csv:2:1: column "age": found a number that is not finite`},
		"infinite":          {"age,pay,sick\n-Inf,2,no\n", `train.csv:2:1: column "age": found a number that is not finite`},
		"too large":         {"age,pay,sick\n1e40,2,no\n", `train.csv:2:1: column "age": found a number that is too large for 32 bits`},
		"hexadecimal":       {"age,pay,sick\n0x10,2,no\n", `train.csv:2:1: column "age": found text that is not a number`},
		"underscores":       {"age,pay,sick\n1_0,2,no\n", `train.csv:2:1: column "age": found text that is not a number`},
		"semicolons":        {"\"age\"; \"pay\"; \"sick\"\n1,5;2;no\n", "train.csv:1:1: found names separated by semicolons, expected commas"},
		"unknown label":     {"age,pay,sick\n1,2," + secret + "\n", `train.csv:2:5: column "sick": found a label that is not declared, expected one of the classes "yes", "no"`},
		"label in capitals": {"age,pay,sick\n1,2,NO\n", `train.csv:2:5: column "sick": found a label that is not declared`},
		"too few fields":    {"age,pay,sick\n1,2,no\n1," + secret + "\n", "train.csv:3:1: found 2 fields, expected 3, as in the first line"},
		"too many fields":   {"age,pay,sick\n1,2,no," + secret + "\n", "train.csv:2:1: found 4 fields, expected 3"},
		"open quote":        {"age,pay,sick\n1,2,\"no\n", `train.csv:2:9: found extraneous or missing " in quoted-field, expected fields quoted as in RFC 4180`},
		"quote to the end":  {"age,pay,sick\n1,2,no\n3,4,\"no\n5,6,yes\n7,8,no\n", `train.csv:3:1: found extraneous or missing " in quoted-field`},
		"bare quote":        {"age,pay,sick\n1,2,n\"o\n", `train.csv:2:6: found bare " in non-quoted-field`},
		"after line breaks": {"age,pay,\"si\nck\",sick\n1,2,\"a\nb\",no\n" + secret + ",2,c,no\n", `train.csv:5:1: column "age": found text`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(table(t, c.file, goodTable))
			wantError(t, err, ErrInvalid, c.says)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q holds a value", err)
			}
			_, err = Load(table(t, goodTable, c.file))
			wantError(t, err, ErrInvalid, strings.ReplaceAll(c.says, "train.csv", "test.csv"))
		})
	}
}

func TestTableThatIsNotThere(t *testing.T) {
	spec := table(t, goodTable, goodTable)
	check(t, os.Remove(filepath.Join(spec.Table, "test.csv")))
	_, err := Load(spec)
	wantError(t, err, ErrMissing, "there is no file "+filepath.Join(spec.Table, "test.csv"), "expected train.csv and test.csv")
	_, err = Count(spec, "test")
	wantError(t, err, ErrMissing, "test.csv")
	other := spec
	other.Columns = []string{"height"}
	_, err = Count(other, "train")
	wantError(t, err, ErrInvalid, `train.csv:1:1: found no column "height"`)
	spec.Name = "mnist"
	_, err = Load(spec)
	wantError(t, err, nil, `both the set "mnist" and the table`, "expected one")
	_, err = Load(Spec{Folder: "a", Table: "b"})
	wantError(t, err, nil, `both the folder "a" and the table "b"`, "expected one")
}

func TestDeclarationsOfATableAreChecked(t *testing.T) {
	for says, change := range map[string]func(*Spec){
		"0 columns declared, expected 1 to 4096":    func(s *Spec) { s.Columns = nil },
		`column "age" is declared twice`:            func(s *Spec) { s.Columns = []string{"age", "age"} },
		`column "sick" is declared twice`:           func(s *Spec) { s.Columns = []string{"age", "sick"} },
		"no label column is declared":               func(s *Spec) { s.Label = "" },
		"1 classes declared, expected 2 to 256":     func(s *Spec) { s.Classes = []string{"yes"} },
		`class "yes" is declared twice`:             func(s *Spec) { s.Classes = []string{"yes", "no", "yes"} },
		"257 classes declared, expected 2 to 256":   func(s *Spec) { s.Classes = make([]string, 257) },
		"4097 columns declared, expected 1 to 4096": func(s *Spec) { s.Columns = make([]string, 4097) },
	} {
		spec := table(t, goodTable, goodTable)
		change(&spec)
		_, err := Load(spec)
		wantError(t, err, ErrInvalid, says)
	}
}

// Whatever the bytes, a table is read whole or refused with one line.
func FuzzTable(f *testing.F) {
	var seeds [][]byte
	for _, seed := range []string{goodTable, "", "age,pay,sick\n1,2,\"no", "age,pay,sick\n1,2", "\x00,\xff\n", "age,pay,sick\n1,2,yes\n"} {
		seeds = append(seeds, []byte(seed))
	}
	folder := f.TempDir()
	slow.Inputs(f, seeds, func(t testing.TB, content []byte) int64 {
		dir := filepath.Join(folder, fmt.Sprint(len(content)))
		write(t, content, dir, "train.csv")
		spec := Spec{Table: dir, Columns: []string{"age", "pay"}, Label: "sick", Classes: []string{"yes", "no"}}
		r, err := readTable(spec, "train")
		if err != nil {
			wantError(t, err, ErrInvalid)
			return 0
		}
		if n, err := Count(spec, "train"); n != r.Len() || err != nil || len(r.values) != 2*n {
			t.Errorf("%d rows with %d values, counted %d, %v", r.Len(), len(r.values), n, err)
		}
		return 0
	})
}
