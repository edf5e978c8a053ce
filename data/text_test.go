package data

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"dpsgd/internal/slow"
)

// textsOf writes files below a folder, the same of train and test, and returns the folder.
func textsOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		for _, part := range parts {
			path := filepath.Join(dir, part+name)
			check(t, os.MkdirAll(filepath.Dir(path), 0o700))
			check(t, os.WriteFile(path, []byte(content), 0o600))
		}
	}
	return dir
}

// Texts are the same from every form of files, with columns by name, by number of columns and in
// either order.
func TestTextsOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		spec  Spec
	}{
		"two columns":        {map[string]string{".csv": "\ufeff\"name\",sex\n Ada, f\n\"Bob, Jr.\",m\n\"\",m\n"}, Spec{}},
		"by the label":       {map[string]string{".csv": "sex,name\nf, Ada\nm,\"Bob, Jr.\"\nm,\"\"\n"}, Spec{Label: "sex"}},
		"by the text":        {map[string]string{".csv": "m,name\nf, Ada\nm,\"Bob, Jr.\"\nm,\"\"\n"}, Spec{Column: "name"}},
		"three columns":      {map[string]string{".csv": "sex,id,name\nf,7, Ada\nm,7,\"Bob, Jr.\"\n1,7,\"\"\n"}, Spec{Column: "name", Label: "sex"}},
		"lines":              {map[string]string{".jsonl": "\ufeff" + `{"text": " Ada", "label": "f"}` + "\n\n" + `{"label": 1, "text": "Bob, Jr."}` + "\n" + `{"text": "", "label": "m"}`}, Spec{}},
		"lines of more keys": {map[string]string{".jsonl": `{"text": " Ada", "id": [1], "label": "f"}` + "\n" + `{"label": "m", "text": "Bob, Jr."}` + "\n" + `{"text": "", "label": "m"}`}, Spec{Column: "text", Label: "label"}},
		"folders":            {map[string]string{"/f/1.txt": "\ufeff Ada", "/m/1.txt": "Bob, Jr.", "/m/2.TXT": "", "/m/.hidden": "x"}, Spec{}},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Text, c.spec.Classes, c.spec.Length = textsOf(t, c.files), []string{"f", "m"}, 5
			set := must(Load(c.spec)).Test.(*Texts)
			if n := must(Count(c.spec, "test")); n != 3 || set.Len() != 3 || c.spec.Shape() != Sequence(5, 256) {
				t.Fatalf("found %d, counted %d texts of %v", set.Len(), n, c.spec.Shape())
			}
			x, targets := make([]float32, 15), make([]float32, 3)
			check(t, must(NewBatcher(set, Normalisation{})).Fill(x, targets, []int{1, 0, 2}))
			want := []float32{'B', 'o', 'b', ',', ' ', ' ', 'A', 'd', 'a', -1, -1, -1, -1, -1, -1}
			if !slices.Equal(x, want) || !slices.Equal(targets, []float32{1, 0, 1}) || set.Text(1) != "Bob, Jr." {
				t.Errorf("found %v of the classes %v, expected %v", x, targets, want)
			}
		})
	}
}

// A Parquet file gives the texts that were written into it; no message about it quotes a text.
func TestTextsOfParquet(t *testing.T) {
	type row struct {
		ID    []int64  `parquet:"id,list"`
		Text  *string  `parquet:"text,optional"`
		Sex   string   `parquet:"sex"`
		Kind  *int64   `parquet:"kind,optional"`
		Words []string `parquet:"lists,list"`
	}
	folder := func(rows ...row) string {
		dir := t.TempDir()
		for _, part := range parts {
			check(t, parquet.WriteFile(filepath.Join(dir, part+".parquet"), rows))
		}
		return dir
	}
	spec := Spec{Text: folder(row{Text: new("Ada"), Sex: "f"}, row{[]int64{1, 2}, new("Bob, Jr."), "m", nil, nil}), Column: "text", Label: "sex", Classes: []string{"f", "m"}, Length: 5}
	set := must(Load(spec)).Train.(*Texts)
	if n := must(Count(spec, "test")); n != 2 || set.Len() != 2 || set.Text(1) != "Bob, Jr." || set.Label(1) != 1 || !slices.Equal(set.of(0), []int32{'A', 'd', 'a'}) {
		t.Errorf("counted %d, found %q of class %d", n, set.Text(1), set.Label(1))
	}
	var read []string
	check(t, ReadTexts(spec, filepath.Join(spec.Text, "test.parquet"), func(s string) error { read = append(read, s); return nil }))
	if !slices.Equal(read, []string{"Ada", "Bob, Jr."}) {
		t.Errorf("found %q", read)
	}
	for says, c := range map[string]Spec{
		"row 1: found no text, or a label": {Text: folder(row{Text: new("secret"), Sex: "f"}, row{Sex: "f"}), Column: "text", Label: "sex"},
		"row 0: found no text, or a label": {Text: folder(row{Text: new("x"), Sex: "secret"}), Column: "text", Label: "sex"},
		`column "id" holds INT`:            {Text: spec.Text, Column: "id", Label: "sex"},
		`column "lists" holds STRING`:      {Text: spec.Text, Column: "lists", Label: "sex"},
		"row 0: found no text, or":         {Text: spec.Text, Column: "text", Label: "kind"},
		`found no column "words"`:          {Text: spec.Text, Column: "words", Label: "sex"},
		"found 5 columns, expected two":    {Text: spec.Text},
		"claims 0 texts, expected":         {Text: folder(), Column: "text", Label: "sex"},
		"ends with \"PAR1\"":               {Text: textsOf(t, map[string]string{".parquet": "PAR1 secret, cut off"})},
	} {
		c.Classes, c.Length = spec.Classes, 5
		if _, err := Load(c); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("found %v, expected one line with %q", err, says)
		}
	}
}

// What is wrong is told in one line, with its place, and never with what stands there.
func TestTextsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		spec  Spec
		says  string
	}{
		"nothing":         {nil, Spec{}, "there is none of"},
		"two sorts":       {map[string]string{".csv": "a,b\nsecret,f\n", ".jsonl": "{}"}, Spec{}, "found both"},
		"three columns":   {map[string]string{".csv": "a,b,c\nsecret,f,1\n"}, Spec{}, "found 3 columns, expected two, or data.column and data.label"},
		"no column":       {map[string]string{".csv": "a,b\nsecret,f\n"}, Spec{Column: "c"}, `found no column "c"`},
		"one for both":    {map[string]string{".csv": "a,b\nsecret,f\n"}, Spec{Column: "a", Label: "a"}, "found one column for text and class"},
		"no class":        {map[string]string{".csv": "a,b\nsecret,secret\n"}, Spec{}, `train.csv:2:8: column "b": found a label that has no class`},
		"no header":       {map[string]string{".csv": "secret,f\nx,m\n"}, Spec{}, "train.csv:1:1: found a class for the name of a column"},
		"no record":       {map[string]string{".csv": "a,b\n"}, Spec{}, "holds no record"},
		"no object":       {map[string]string{".jsonl": `{"a": "x", "b": "f"}` + "\nsecret"}, Spec{}, "train.jsonl:2: found JSON that is wrong at byte 1, expected an object in each line"},
		"no key":          {map[string]string{".jsonl": "{}"}, Spec{}, "train.jsonl:1: found no JSON object with a key"},
		"a key twice":     {map[string]string{".jsonl": `{"a": "secret", "b": "f", "b": "m"}`}, Spec{}, "train.jsonl:1: found a key twice in the JSON object"},
		"no text":         {map[string]string{".jsonl": `{"a": null, "b": "f"}`}, Spec{}, `found no text under the key "a"`},
		"a number":        {map[string]string{".jsonl": `{"a": 77, "b": "f"}`}, Spec{}, `found no text under the key "a"`},
		"key of a class":  {map[string]string{".jsonl": `{"a": "secret", "b": 2}`}, Spec{}, `found a label that has no class under the key "b"`},
		"a long line":     {map[string]string{".jsonl": `{"a": "` + strings.Repeat("secret", maxText/6) + `", "b": "f"}`}, Spec{}, "train.jsonl:1: found a line of more than 1048576 bytes"},
		"no line":         {map[string]string{".jsonl": "\n"}, Spec{}, "holds no text"},
		"another folder":  {map[string]string{"/f/1.txt": "secret", "/m/1.txt": "x", "/x/1.txt": "y"}, Spec{}, "is not one of the declared classes"},
		"a class number":  {map[string]string{"/f/1.txt": "secret", "/m/1.txt": "x", "/1/1.txt": "y"}, Spec{}, "is not one of the declared classes"},
		"a folder less":   {map[string]string{"/f/1.txt": "secret"}, Spec{}, "expected a folder for each class"},
		"a picture":       {map[string]string{"/f/1.png": "secret", "/m/1.txt": "x"}, Spec{}, "expected files .txt alone"},
		"a long file":     {map[string]string{"/f/1.txt": strings.Repeat("secret", maxText), "/m/1.txt": "x"}, Spec{}, "is longer than"},
		"a folder in one": {map[string]string{"/f/a.txt/1.txt": "secret", "/m/1.txt": "x"}, Spec{}, "expected a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Text, c.spec.Classes, c.spec.Length = textsOf(t, c.files), []string{"f", "m"}, 5
			_, err := Load(c.spec)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "train.csv") > 1 {
				t.Errorf("found %v, expected one line with %q and its place once", err, c.says)
			}
		})
	}
}

// Lines of a file are texts; a file of bytes, such as a picture, is none.
func TestTextsOfLines(t *testing.T) {
	long := strings.Repeat("one", maxText/3)
	file := filepath.Join(textsOf(t, map[string]string{".txt": long + "\n\ntwo\n", ".png": "\x89PNG\r\n\x1a\n\x00\x00"}), "train")
	var read []string
	visit := func(s string) error { read = append(read, s); return nil }
	if err := ReadTexts(Spec{}, file+".txt", visit); err != nil || !slices.Equal(read, []string{long, "two"}) {
		t.Errorf("found %d texts, %v", len(read), err)
	}
	if err := ReadTexts(Spec{}, file+".png", visit); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "train.png:3: found a byte 0, expected a text in each line") {
		t.Errorf("found %v, expected that bytes are refused", err)
	}
}

// Lines of objects and of columns are texts with classes or an error, whatever they hold; what is
// read is counted.
func FuzzTexts(f *testing.F) {
	seeds := [][]byte{[]byte("a,b\nx,f\n"), nil, []byte(`{"a": "x", "b": "f"}`), []byte(`{"a": "\ud800", "b": 1}` + "\n{"), []byte("\xff\xfe\n\n\x00"), []byte(`{"a": {"a": []}, "b": "f"}`)}
	folder := f.TempDir()
	slow.Inputs(f, seeds, func(t testing.TB, content []byte) int64 {
		for _, ending := range []string{".csv", ".jsonl", ".parquet"} {
			dir := filepath.Join(folder, ending)
			write(t, content, dir, "train"+ending)
			spec := Spec{Text: dir, Classes: []string{"f", "m"}, Length: 5}
			read := 0
			n, err := eachText(spec, "train", func(text string, label uint8) error {
				if read++; int(label) > 1 || len(Bytes{}.Tokens(nil, text, 5)) > 5 {
					t.Errorf("%q is of the class %d", text, label)
				}
				return nil
			})
			if err != nil {
				wantError(t, err, ErrInvalid)
			} else if n != read || n == 0 {
				t.Errorf("read %d texts, counted %d", read, n)
			}
			if err := ReadTexts(spec, filepath.Join(dir, "train"+ending), func(string) error { return nil }); err != nil {
				wantError(t, err, ErrInvalid)
			}
		}
		return 0
	})
}
