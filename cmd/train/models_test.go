package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/tiny"
	"dpsgd/internal/tiny/tinyrun"
)

// trainedRun trains on own pictures and returns their folder; the run is runs/own-1.
func trainedRun(t *testing.T) (folder string) {
	t.Helper()
	t.Chdir(t.TempDir())
	folder = pictureFiles(t)
	succeed(t, "run", ownConfig(t, folder, 40))
	return folder
}

// Predictions for people, for spreadsheets and for programs say the same, and agree with eval.
func TestPredict(t *testing.T) {
	folder := trainedRun(t)
	test := filepath.Join(folder, "test")
	correct := 0
	objects := strings.Split(strings.TrimSpace(succeed(t, "predict", "runs/own-1", test, "--json")), "\n")
	for _, line := range objects {
		var o struct {
			File, Class string
			Probability float64
			Classes     []struct {
				Class       string
				Probability float64
			}
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil || len(o.Classes) != 2 || o.Classes[0].Class != o.Class {
			t.Fatalf("found %s (%v), expected file, class, probability and two classes", line, err)
		}
		if filepath.Base(filepath.Dir(o.File)) == o.Class {
			correct++
		}
	}
	accuracy := lastLine(t, succeed(t, "eval", "runs/own-1", "--json"))["test_accuracy"]
	if len(objects) != 20 || float64(correct)/20 != accuracy {
		t.Errorf("found %d of %d right, expected %v of 20 as eval says", correct, len(objects), accuracy)
	}
	rows, err := csv.NewReader(strings.NewReader(succeed(t, "predict", "runs/own-1", test, "--csv", "--top", "1"))).ReadAll()
	if err != nil || len(rows) != 21 || strings.Join(rows[0], ",") != "file,class,probability" {
		t.Errorf("found %q (%v), expected a line of names and 20 others", rows, err)
	}
	one := filepath.Join(test, "up", "000.png")
	if out := succeed(t, "predict", "runs/own-1", one); !strings.HasPrefix(out, one+"  up ") || strings.Count(out, "%") != 2 {
		t.Errorf("found %q, expected the classes of one picture", out)
	}
}

// Texts are numbered as such: their lines may have empty ones between them.
func TestPredictTexts(t *testing.T) {
	run := tinyrun.OnTexts(t)
	file := filepath.Join(t.TempDir(), "new.txt")
	tiny.Write(t, file, "Ann\n\n\nBob\n")
	says(t, succeed(t, "predict", run, file), file+" example 1  ", file+" example 2  ")
}

// What is exported, described and imported again.
func TestExportCardImport(t *testing.T) {
	trainedRun(t)
	for format, file := range map[string]string{"onnx": "own-1.onnx", "safetensors": "own-1.safetensors", "pytorch-script": "own-1.py"} {
		says(t, succeed(t, "export", "runs/own-1", "--format", format), file)
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	matches(t, succeed(t, "card", "runs/own-1"), `(?s)^---\nlicense:.*\(5\.000, 0\.001\)-differentially private`)
	succeed(t, "card", "runs/own-1", "-o", "README.md")
	has(t, lastLine(t, succeed(t, "card", "runs/own-1", "--json")), "card", tiny.Read(t, "README.md"))
	config := ownConfig(t, pictures(t), 5)
	out := succeed(t, "import", "own-1.safetensors", config)
	says(t, out, "1.weight   2 64   1.weight", "The names are those of the network.", "privacy.epsilon: 5.000", "  init: \"own-1.safetensors\"\n", "init_trained_on: private")
	// The lines that are printed begin a run.
	_, lines, _ := strings.Cut(out, "In the configuration:\n\nmodel:\n")
	tiny.Write(t, "again.yaml", strings.Replace(tiny.Read(t, config), "model: {name: logistic}", "model:\n  name: logistic\n"+lines, 1))
	succeed(t, "run", "again.yaml")
	says(t, tiny.Read(t, "runs/again-1/privacy.md"), "Initial weights | own-1.safetensors")
}

// A page is served until a signal comes, and programs are answered as predict does.
func TestServe(t *testing.T) {
	skipWithoutSignals(t)
	folder := trainedRun(t)
	c, url := serving(t, "serve", "runs/own-1", "--address", "127.0.0.1:0", "--json")
	picture := tiny.Read(t, filepath.Join(folder, "test", "down", "001.png"))
	answer, err := http.Post(url+"predict", "image/png", strings.NewReader(picture))
	tiny.Check(t, err)
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), `"class":"down"`) {
		t.Errorf("found %s (%v), expected down", body, err)
	}
	address := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
	refused(t, shell.ExitUsage, "another program listens on "+address, "serve", "runs/own-1", "--address", address)
	silent, err := net.Dial("tcp", address) // a browser does so ahead of asking
	tiny.Check(t, err)
	defer silent.Close()
	tiny.Check(t, c.Process.Signal(os.Interrupt))
	tiny.Check(t, c.Wait())
}

func TestWrongInputsOfModels(t *testing.T) {
	folder := trainedRun(t)
	test := filepath.Join(folder, "test")
	tiny.Write(t, "notes.safetensors", "no tensors")
	tiny.Write(t, "empty.png", "")
	tiny.Write(t, "table.csv", "a,b\n1,2\n")
	for _, w := range []wrongInput{
		{"predict nothing", []string{"predict", "runs/own-1"}, shell.ExitUsage, "expected at least two: the folder of a run, and pictures"},
		{"predict what is not there", []string{"predict", "runs/own-1", "no.png"}, shell.ExitData, "no.png"},
		{"predict an empty file", []string{"predict", "runs/own-1", "empty.png"}, shell.ExitData, "picture empty.png: cannot be decoded as a picture"},
		{"predict a table by pictures", []string{"predict", "runs/own-1", "table.csv"}, shell.ExitData, "picture table.csv: cannot be decoded"},
		{"predict in two ways", []string{"predict", "runs/own-1", test, "--csv", "--json"}, shell.ExitUsage, "found --csv and --json"},
		{"predict -1 classes", []string{"predict", "runs/own-1", test, "--top", "-1"}, shell.ExitUsage, "found --top -1"},
		{"predict by nothing", []string{"predict", folder, test}, shell.ExitDamaged, "holds no config.yaml"},
		{"export as what there is not", []string{"export", "runs/own-1", "--format", "tflite"}, shell.ExitUsage, "found --format tflite, expected one of onnx, safetensors, pytorch-script"},
		{"export over the model", []string{"export", "runs/own-1", "--format", "safetensors", "-o", "runs/own-1/model.safetensors"}, shell.ExitUsage, "expected a name that no run uses"},
		{"export to nowhere", []string{"export", "runs/own-1", "-o", "no/model.onnx"}, shell.ExitFailed, "no/model.onnx"},
		{"card of nothing", []string{"card", folder}, shell.ExitDamaged, "holds no config.yaml"},
		{"import of what is none", []string{"import", "notes.safetensors", "digits"}, shell.ExitDamaged, "notes.safetensors"},
		{"import into nothing", []string{"import", "runs/own-1/model.safetensors", "digit"}, shell.ExitUsage, `found no preset and no file "digit"`},
		{"import of what does not fit", []string{"import", "runs/own-1/model.safetensors", "cifar-cnn"}, shell.ExitUsage, "none of the 2 tensors of runs/own-1/model.safetensors has the shape of a parameter"},
		{"serve at no address", []string{"serve", "runs/own-1", "--address", "8080"}, shell.ExitUsage, `found the address "8080"`},
		{"serve of nothing", []string{"serve", folder, "--address", "127.0.0.1:0"}, shell.ExitDamaged, "holds no config.yaml"},
	} {
		t.Run(w.name, func(t *testing.T) { refused(t, w.code, w.want, w.args...) })
	}
}
