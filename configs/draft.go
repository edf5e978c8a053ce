package configs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpsgd/data"
	"dpsgd/data/vectors"
)

// Draft is a configuration to start from, with its comments: a preset, changed to fit a data set
// and a budget.
type Draft struct {
	Preset string // name of the preset that the draft was made from
	Text   []byte // the configuration in YAML
	// Open is how many lines somebody still has to change. They have [DraftMark] in their comments.
	Open int
}

// DraftMark is in the comments of lines that are to be changed.
const DraftMark = "<-"

// errAnswer is matched by the error for data or an ε from which no configuration can be made.
var errAnswer = errors.New("train: no configuration can be made")

// bestPreset maps each data set to its preset: the most accurate one that trains in minutes.
var bestPreset = map[string]string{"digits": "digits", "mnist": "mnist-best", "fashion-mnist": "fashion-best", "cifar-10": "cifar-best", "cifar-100": "cifar-best", "sentences": "sentences"}

// MakeDraft returns a configuration for a data set and a budget ε, which must be finite and above
// 0. The data set is the name of a known one, or a folder with data of one's own. Of a folder it
// reads names of files and folders, and the first line of a table, all of which count as public.
func MakeDraft(set string, epsilon float64) (Draft, error) {
	if !(epsilon > 0) || math.IsInf(epsilon, 1) {
		return Draft{}, fmt.Errorf("%w: found epsilon %g, expected a finite number above 0; 1 to 8 is common", errAnswer, epsilon)
	}
	preset, changes, err := aboutData(set)
	if err != nil {
		return Draft{}, err
	}
	file, src, err := Open(preset, Presets(), "preset")
	if err != nil || file == preset {
		return Draft{}, fmt.Errorf("%w: found no preset for the data set %s", errAnswer, set)
	}
	text := string(src)
	for _, c := range append(changes, change{"epsilon", encodeNumber(epsilon), false}) {
		text = c.in(text)
	}
	_, rest, _ := strings.Cut(text, "\n") // the first line is for editors beside the schema
	text = "# Made by `train init` from the preset " + preset + ".\n" + rest
	d := Draft{Preset: preset, Text: []byte(text), Open: strings.Count(text, "# "+DraftMark)}
	_, err = Parse("the configuration that was made", d.Text, nil)
	return d, err
}

// change gives a key of a preset another value.
type change struct {
	key, value string // the last part of the key; the value as YAML
	guess      bool   // the value is a guess, which somebody has to check
}

// in returns text with the first value of the key replaced, also where its line is a comment. The
// comment behind that value stays; a [DraftMark] in it stays only if the new value is a guess.
func (c change) in(text string) string {
	line := regexp.MustCompile(`(?m)^( *)(?:# )?` + regexp.QuoteMeta(c.key) + `: [^#\n]*?( *#.*)?$`)
	at := line.FindStringSubmatchIndex(text)
	if at == nil {
		return text
	}
	comment := ""
	if at[4] >= 0 {
		comment = text[at[4]:at[5]]
	}
	if !c.guess {
		comment = strings.Replace(comment, DraftMark+" ", "", 1)
	}
	return text[:at[3]] + c.key + ": " + c.value + comment + text[at[1]:]
}

// aboutData returns a preset for the data called name, a known data set or a folder, and the
// changes that fit the preset to it.
func aboutData(name string) (preset string, changes []change, err error) {
	if known := data.Find(name); known != nil {
		return bestPreset[known.Name], []change{{"name", known.Name, false}}, nil
	}
	name, texts := strings.CutPrefix(name, TextsMark)
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(name, file))
		return err == nil && name != ""
	}
	switch {
	case has("train.csv"):
		columns, err := columnsOf(filepath.Join(name, "train.csv"))
		if err != nil {
			return "", nil, err
		}
		preset, changes = aboutColumns(name, columns, texts)
		return preset, changes, nil
	case has("train.parquet"):
		if columns := parquetColumns(filepath.Join(name, "train.parquet")); len(columns) > 1 {
			if preset, changes = aboutColumns(name, columns, texts); preset == "text-lstm" {
				return preset, changes, nil
			}
		}
		fallthrough
	case has("train.npy"), has("train.safetensors"):
		return "own-vectors", []change{{"vectors", strconv.Quote(name), false}}, nil
	case has("train.jsonl"):
		return "text-lstm", []change{{"text", strconv.Quote(name), false}}, nil
	case has("train"):
		return aboutFolders(name)
	}
	found := "data"
	if !has("") {
		found = "no data set and no folder"
	}
	return "", nil, fmt.Errorf("%w: found %s %q, expected one of %s, or a folder of your own with pictures or texts in train/CLASS/ and test/CLASS/, with train.csv and test.csv, with train.jsonl, with vectors in train.npy, or with either in train.parquet; text= in front of it says that a table holds texts",
		errAnswer, found, name, strings.Join(data.Names(), ", "))
}

// textNames are columns that hold texts by their names.
var textNames = []string{"text", "texts", "sentence", "review", "comment", "message", "content", "body"}

// TextsMark in front of a folder's name says that its table holds texts.
const TextsMark = "text="

// aboutColumns returns a preset for a table of these columns, and its changes. It holds texts if
// somebody says so or one of its columns has such a name.
func aboutColumns(folder string, columns []string, texts bool) (preset string, changes []change) {
	last := len(columns) - 1
	text := slices.IndexFunc(columns, func(name string) bool { return slices.Contains(textNames, strings.ToLower(name)) })
	switch {
	case text < 0 && !texts:
		return "own-table", []change{{"table", strconv.Quote(folder), false}, {"columns", yamlList(columns[:last]), true}, {"label", strconv.Quote(columns[last]), true},
			{"mean", "[0]", true}, {"std", "[1]", true}}
	case text < 0 && last == 1:
		return "text-lstm", []change{{"text", strconv.Quote(folder), false}}
	}
	text = max(text, 0)
	label := columns[last]
	if text == last {
		label = columns[0]
	}
	return "text-lstm", []change{{"text", strconv.Quote(folder), false}, {"column", strconv.Quote(columns[text]), true}, {"label", strconv.Quote(label), true}}
}

// aboutFolders returns a preset for a folder of pictures or texts, and its changes: the classes are
// the names of the folders in its folder train, at least 2, and δ follows from the number of files.
func aboutFolders(folder string) (preset string, changes []change, err error) {
	train := filepath.Join(folder, "train")
	entries, err := os.ReadDir(train)
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	var classes []string
	texts, others := 0, 0
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(train, e.Name())); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			classes = append(classes, e.Name())
			files, err := os.ReadDir(filepath.Join(train, e.Name()))
			if err != nil {
				return "", nil, fmt.Errorf("%w: %w", errAnswer, err)
			}
			for _, f := range files {
				if strings.EqualFold(filepath.Ext(f.Name()), ".txt") {
					texts++
				} else if !strings.HasPrefix(f.Name(), ".") {
					others++
				}
			}
		}
	}
	if len(classes) < 2 {
		return "", nil, fmt.Errorf("%w: found %d folders in %s, expected one for each class, at least 2", errAnswer, len(classes), train)
	}
	preset, kind, n := "text-lstm", "text", texts
	if texts <= others {
		preset, kind = "own-pictures", "folder"
		if n, err = data.Count(data.Spec{Folder: folder, Classes: classes}, "train"); err != nil {
			return "", nil, err
		}
	}
	return preset, []change{{kind, strconv.Quote(folder), false}, {"classes", yamlList(classes), false}, {"delta", encodeNumber(deltaFor(n)), false}, {"batch_size", strconv.Itoa(min(1024, max(1, n/4))), false}}, nil
}

// deltaFor returns the largest power of ten below 1/n, and at most 1e-5. It takes n = 0 as 1.
func deltaFor(n int) float64 {
	return min(1e-5, math.Pow10(-int(math.Floor(math.Log10(float64(max(1, n)))))-1))
}

// columnsOf returns the names in the first line of a CSV file. It refuses fewer than 2.
func columnsOf(path string) (columns []string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	defer file.Close()
	r, err := vectors.NewRecordReader(path, file)
	if err == nil && len(r.Header) < 2 {
		err = fmt.Errorf("found the name of one column in the first line of %s, expected at least 2", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, err)
	}
	return r.Header, nil
}

// parquetColumns returns the names of the columns of a Parquet file; none if it cannot be read.
func parquetColumns(path string) []string {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		if t, err := vectors.OpenParquetTexts(f); err == nil {
			return t.Header
		}
	}
	return nil
}

func yamlList(words []string) string {
	return "[" + strings.Join(texts(words, strconv.Quote), ", ") + "]"
}
