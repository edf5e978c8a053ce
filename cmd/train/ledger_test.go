package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/books"
	"dpsgd/internal/tiny"
)

// The commands that look at all ledgers of a folder: what they say when all is well, and when
// something is missing.
func TestLedgerCommands(t *testing.T) {
	config := own(t, 20)
	refused(t, shell.ExitDamaged, "runs holds no datasets.jsonl and no run", "ledger", "show")
	first := succeed(t, "run", config)
	if strings.Contains(first, "on this data") {
		t.Errorf("the first run tells about others:\n%s", first)
	}
	second := succeed(t, "run", config)
	told := regexp.MustCompile(` on this data (ε = \d\.\d{3} at δ = 0\.001) for all 2 runs together, whatever was chosen on the way; (\d\.\d{3}) if all was decided before any result was seen `).FindStringSubmatch(strings.Join(strings.Fields(second), " "))
	if told == nil {
		t.Fatalf("the second run does not say what both cost:\n%s", second)
	}

	shown := succeed(t, "ledger", "show")
	name := filepath.Base(readFolder(t, config))
	want := regexp.MustCompile(`^` + name + `  120 examples of 8x8x1, 2 classes\ntogether  ` + told[1] + ` \(any choice\) over 40 releases\n          ε = ` + told[2] + ` at δ = 0\.001 \(rdp\), if chosen before any result\n\n` +
		`run    releases      ε      δ\nown-1        20  5\.000  0\.001\nown-2        20  5\.000  0\.001\n\nhead of runs.datasets\.jsonl: ([0-9a-f]{32})\n$`)
	match := want.FindStringSubmatch(shown)
	if match == nil {
		t.Fatalf("ledger show says:\n%s\nexpected %s", shown, want)
	}
	succeed(t, "run", config)
	matches(t, succeed(t, "ledger", "verify", "--head", match[1]), `^3 runs and 0 sweeps agree with runs/datasets\.jsonl, 60 releases; head `)

	tiny.Check(t, os.RemoveAll("runs/own-3"))
	for _, name := range []string{"show", "verify"} {
		says(t, succeed(t, "ledger", name), "WARNING: deleted or moved away: own-3; what was released there counts\n")
	}

	// The whole folder put back to an older copy shows by the head alone.
	refused(t, shell.ExitRefused, "", "ledger", "verify", "--head", strings.Repeat("a", 32))
	tiny.Check(t, os.Truncate("runs/own-2/checkpoints/checkpoint-20.ckpt", 10))
	refused(t, shell.ExitDamaged, "checkpoint-20.ckpt", "ledger", "verify")
	tiny.Check(t, os.Remove("runs/own-1/ledger.jsonl"))
	if r := command("ledger", "verify", "--json"); r.code != shell.ExitRefused || strings.Count(r.err, "\n") != 2 || len(lastLine(t, r.out)["problems"].([]any)) != 2 {
		t.Errorf("a lost ledger: found exit code %d and %q\n%s", r.code, r.err, r.out)
	}
	if r := command("ledger", "show"); r.code != shell.ExitRefused || r.out != "" {
		t.Errorf("a lost ledger: found exit code %d and %q", r.code, r.out)
	}
}

// readFolder is the folder of pictures that a configuration names.
func readFolder(t *testing.T, config string) string {
	t.Helper()
	match := regexp.MustCompile(`folder: "(.*?)"`).FindStringSubmatch(tiny.Read(t, config))
	if match == nil {
		t.Fatal("the configuration names no folder")
	}
	return match[1]
}

// Where the ledger of the data is lost, commands that read answer with one line of warning on
// standard error, and those that release are refused with a way out.
func TestLostDatasets(t *testing.T) {
	config := own(t, 5)
	succeed(t, "run", config)
	tiny.Check(t, os.Remove("runs/datasets.jsonl"))
	for _, args := range [][]string{{"eval"}, {"epsilon"}, {"delta", "--epsilon", "1"}, {"steps", "--epsilon", "9"}, {"compare"}} {
		r := command(append(args[:1:1], append([]string{"runs/own-1", "--json"}, args[1:]...)...)...)
		if r.code != 0 || strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "train: WARNING: ") || !strings.Contains(r.err, "found no datasets.jsonl") || strings.Count(r.out, "\n") != 1 {
			t.Errorf("%s: found exit code %d, %q and %q, expected an answer and a line of warning", args[0], r.code, r.err, r.out)
		}
	}
	for _, args := range [][]string{{"resume", "runs/own-1"}, {"run", config}, {"ledger", "show"}, {"ledger", "verify"}} {
		if r := command(args...); r.code != shell.ExitRefused || !strings.Contains(r.err, "put it back from a copy") || r.out != "" {
			t.Errorf("%s: found exit code %d, %q and %q", args[0], r.code, r.err, r.out)
		}
	}
}

// A finished run whose ledger was cut down to its header is not free of charge.
func TestShortenedLedger(t *testing.T) {
	succeed(t, "run", own(t, 5))
	header, _, _ := strings.Cut(tiny.Read(t, "runs/own-1/ledger.jsonl"), "\n")
	tiny.Write(t, "runs/own-1/ledger.jsonl", header+"\n")
	for _, args := range [][]string{{"eval", "runs/own-1"}, {"epsilon", "runs/own-1"}, {"compare", "runs/own-1"}, {"resume", "runs/own-1"}, {"ledger", "show"}, {"ledger", "verify"}} {
		refused(t, shell.ExitRefused, "found 0 ledger entries, expected at least the 5 of", args...)
	}
}

// What is printed is enough for the budget: numbers are rounded away from it.
func TestCalibratedNoiseIsRoundedUp(t *testing.T) {
	for _, epsilon := range []string{"0.5", "1", "2", "3", "5", "8"} {
		args := []string{"calibrate", "--accountant", "rdp", "--sampling-probability", "0.01", "--steps", "1000", "--delta", "1e-5", "--epsilon", epsilon}
		exact := lastLine(t, succeed(t, append(args, "--json")...))["noise_multiplier"].(float64)
		if found := printed(t, `^noise multiplier (\S+) is the least`, args); found < exact || found > exact*(1+1e-5) {
			t.Errorf("ε = %s: found %v, expected %v rounded up", epsilon, found, exact)
		}
		args = []string{"calibrate", "--solve", "sampling-probability", "--noise-multiplier", "1", "--steps", "1000", "--delta", "1e-5", "--epsilon", epsilon}
		exact = lastLine(t, succeed(t, append(args, "--json")...))["sampling_probability"].(float64)
		if found := printed(t, `^sampling probability (\S+) is the largest`, args); found > exact || found < exact*(1-1e-5) {
			t.Errorf("ε = %s: found %v, expected %v rounded down", epsilon, found, exact)
		}
		args = []string{"delta", "--noise-multiplier", "1", "--sampling-probability", "0.01", "--steps", "1000", "--epsilon", epsilon}
		o := lastLine(t, succeed(t, append(args, "--json")...))
		for pattern, least := range map[string]any{`^δ = (\S+) at`: o["delta"], `, (\S+)\]`: o["upper"]} {
			if found := printed(t, pattern, args); found < least.(float64) {
				t.Errorf("ε = %s: found %v, expected at least %v", epsilon, found, least)
			}
		}
		if found := printed(t, `\[(\S+),`, args); found > o["lower"].(float64) {
			t.Errorf("ε = %s: found %v, expected at most %v", epsilon, found, o["lower"])
		}
	}
}

// printed is the number that a pattern finds in what a command line prints.
func printed(t *testing.T, pattern string, args []string) float64 {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(succeed(t, args...))
	if match == nil {
		t.Fatalf("%q prints no match of %s", args, pattern)
	}
	return tiny.Must(strconv.ParseFloat(match[1], 64))(t)
}

// A limit is set, shown, asked and refused in one line, with the exit code of what a person can
// change.
func TestLedgerLimitCommand(t *testing.T) {
	config := own(t, 20)
	name := filepath.Base(readFolder(t, config))
	refused(t, shell.ExitUsage, "give --epsilon and --delta", "ledger", "limit", name)
	refused(t, shell.ExitUsage, "expected both", "ledger", "limit", name, "--epsilon", "8")
	refused(t, shell.ExitUsage, "expected both", "ledger", "limit", name, "--delta", "0.001")
	same(t, "limit", succeed(t, "ledger", "limit", name, "--epsilon", "8", "--delta", "0.001"), "limit of "+name+": ε = 8 at δ = 0.001, of which 0.000 is spent\n")
	spent := regexp.MustCompile(`limit ε = 8 at δ = 0\.001, of which (\d\.\d{3}) is spent`).FindStringSubmatch(succeed(t, "run", config))
	if spent == nil || !(spent[1] > "5.0" && spent[1] < "8") {
		t.Fatalf("the run says %q of the limit", spent)
	}
	for _, args := range [][]string{{"ledger", "show"}, {"ledger", "limit", name}, {"runs"}} {
		says(t, succeed(t, args...), "limit of "+name+": ε = 8 at δ = 0.001, of which "+spent[1]+" is spent\n")
	}
	refused(t, shell.ExitUsage, "after "+spent[1]+" that is spent or reserved, expected at most 8", "run", config)
	refused(t, shell.ExitUsage, "never raised", "ledger", "limit", name, "--epsilon", "9", "--delta", "0.001")
	refused(t, shell.ExitUsage, "found privacy.none", "run", config, "--set", "privacy.none=true", "--set", "privacy.epsilon=none")
	refused(t, shell.ExitUsage, "found privacy.unit label", "run", config, "--set", "privacy.unit=label")
}

// limitsOf returns the limits of a folder of runs, as the commands print them.
func limitsOf(t *testing.T, dir string) []books.LimitState {
	t.Helper()
	var shown struct {
		Limits []books.LimitState `json:"limits"`
	}
	tiny.Check(t, json.Unmarshal([]byte(succeed(t, "ledger", "show", "--runs-dir", dir, "--json")), &shown))
	return shown.Limits
}

// A run of every kind asks the limit of what it protects. Where it would pass, the run is refused
// and leaves the folder as it was; else what it released is counted, and the same once more counts
// twice.
func TestRunsOfEveryKindKeepTheLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	folderOf(t, nil)
	for _, args := range runsOfEveryKind {
		kind := args[0]
		if args[0] == "extend" || args[0] == "resume" || args[0] == "sweep" {
			continue
		}
		for _, arg := range args {
			if name, ok := strings.CutPrefix(arg, "run.name="); ok {
				kind = name
			}
		}
		of := func(dir, epsilon string) []string {
			if kind == "stats" { // whose file has no such key
				succeed(t, "ledger", "limit", "people", "--epsilon", epsilon, "--delta", "1e-3", "--runs-dir", dir)
				return append(append([]string{}, args...), "--runs-dir", dir)
			}
			return append(append([]string{}, args...), "--set", "data.limit.epsilon="+epsilon, "--set", "data.limit.delta=1e-3", "--runs-dir", dir)
		}
		t.Run(kind, func(t *testing.T) {
			small, large := kind+"-small", kind+"-large"
			var before map[string]string
			for range 2 {
				refused(t, 2, "the limit of", of(small, "0.01")...)
				if after := tiny.Snapshot(t, small); before != nil && !maps.Equal(before, after) {
					t.Errorf("what was refused changed the folder: %v", after)
				} else {
					before = after
				}
			}
			if l := limitsOf(t, small); len(l) != 1 || l[0].Spent != 0 || l[0].Reserved != 0 {
				t.Errorf("found %+v of what was refused, expected nothing used", l)
			}
			succeed(t, of(large, "1000")...)
			once := limitsOf(t, large)
			again := of(large, "1000")
			for i, arg := range again {
				if strings.HasPrefix(arg, "run.name=") {
					again[i] = arg + "-2"
				}
			}
			succeed(t, again...)
			twice := limitsOf(t, large)
			if len(once) != 1 || len(twice) != 1 || !(0 < once[0].Spent && once[0].Spent < twice[0].Spent) || once[0].Reserved != once[0].Spent || twice[0].Reserved != twice[0].Spent {
				t.Errorf("found %+v and %+v, expected all that was released, and nothing reserved", once, twice)
			}
		})
	}
}

// More steps than planned ask the limit too: what passes it is refused and nothing is written, what
// does not is counted.
func TestExtensionsKeepTheLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	folderOf(t, nil)
	succeed(t, "run", "own.yaml", "--set", "run.name=short", "--set", "data.limit.epsilon=6", "--set", "data.limit.delta=1e-3")
	spent := limitsOf(t, "runs")[0].Spent
	before := tiny.Snapshot(t, "runs")
	refused(t, 2, "the limit of", "extend", "runs/short", "--steps", "400")
	if after := tiny.Snapshot(t, "runs"); !maps.Equal(before, after) {
		t.Error("what was refused changed the folder")
	}
	succeed(t, "extend", "runs/short", "--steps", "5")
	succeed(t, "resume", "runs/short")
	if l := limitsOf(t, "runs")[0]; !(spent < l.Spent && l.Spent <= 6) || l.Reserved != l.Spent {
		t.Errorf("found %+v, expected more than the %v before", l, spent)
	}
}

// A head that was signed and kept elsewhere finds a ledger that was put back, cut off or replaced, and
// lets one that went on pass. Notes that the key has not signed are no witness.
func TestLedgerWitness(t *testing.T) {
	config := own(t, 3)
	refused(t, shell.ExitDamaged, "holds no datasets.jsonl", "ledger", "head", "--runs-dir", ".")
	succeed(t, "run", config)
	older := tiny.Read(t, "runs/datasets.jsonl")
	succeed(t, "run", config)
	key := strings.TrimSpace(succeed(t, "ledger", "key", "witness.key"))
	other := strings.TrimSpace(succeed(t, "ledger", "key", "other.key"))
	refused(t, shell.ExitUsage, "expected a file that is not there", "ledger", "key", "witness.key")
	if info, err := os.Stat("witness.key"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("found %v (%v), expected a key for its owner alone", info.Mode(), err)
	}
	signed := succeed(t, "ledger", "head", "--key", "witness.key")
	says(t, signed, "dpsgd ledger head 1\n", "\n— witness ")
	says(t, signed, succeed(t, "ledger", "head"))
	tiny.Write(t, "head.note", signed)
	verify := []string{"ledger", "verify", "--witness", "head.note", "--witness-key", key}
	succeed(t, verify...)
	succeed(t, "run", config)
	succeed(t, verify...)

	whole := tiny.Read(t, "runs/datasets.jsonl")
	for what, content := range map[string]string{"an older copy": older, "cut off": whole[:strings.LastIndex(older, "\n{")+1]} {
		tiny.Write(t, "runs/datasets.jsonl", content)
		if r := command(verify...); r.code != shell.ExitRefused || !strings.Contains(r.err, "that the witness saw") {
			t.Errorf("%s: found exit code %d and %q", what, r.code, r.err)
		}
	}
	tiny.Write(t, "runs/datasets.jsonl", whole)
	succeed(t, "run", config, "--runs-dir", "others")
	refused(t, shell.ExitRefused, "which the witness saw", append(verify, "--runs-dir", "others")...)

	refused(t, shell.ExitUsage, "expected the line that `train ledger key` printed", "ledger", "verify", "--witness", "head.note", "--witness-key", "x")
	refused(t, shell.ExitUsage, "expected both or neither", "ledger", "verify", "--witness", "head.note")
	refused(t, shell.ExitUsage, "expected both or neither", "ledger", "verify", "--witness-key", key)
	refused(t, shell.ExitUsage, `found the key ""`, "ledger", "verify", "--witness", "", "--witness-key", "")
	refused(t, shell.ExitFailed, "cannot read the key", "ledger", "head", "--key", "")
	refused(t, shell.ExitDamaged, "expected a note that witness has signed", "ledger", "verify", "--witness", "head.note", "--witness-key", other)
	tiny.Write(t, "head.note", strings.Replace(signed, "head 1\n", "head 1\n\n", 1))
	refused(t, shell.ExitDamaged, "expected a note that witness has signed", verify...)
	refused(t, shell.ExitDamaged, "expected a file that `train ledger key` has made", "ledger", "head", "--key", "head.note")
}
