// Package statement writes and reads the privacy statement of a run: what the run claims, and
// everything that the claim rests on, as data and in words.
package statement

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"dpsgd/accountant"
	"dpsgd/checkpoints"
	"dpsgd/data"
	"dpsgd/internal/account"
	"dpsgd/internal/disk"
	"dpsgd/internal/folder"
)

// Statement says what a run claims about privacy, and what the claim rests on. Equal ledgers
// and plans give equal statements.
type Statement struct {
	Run    string `json:"run"`    // the name of its folder
	Status string `json:"status"` // how the run ended, as done or budget_exhausted
	// Hidden says that the statement must not be published: it is of a trial of a sweep that drew
	// how many points there are, and names the point by its number.
	Hidden     bool   `json:"not_to_be_published,omitempty"`
	Unit       string `json:"unit"`
	Relation   string `json:"relation"`
	Neighbours string `json:"neighbours"`
	Public     string `json:"public"` // what neighbours have in common
	account.Answer
	// Released is the cost of the releases that were made, if fewer than planned; Answer is that of
	// all planned ones. Released holds only if the run was ended without a look at any result.
	Released            *account.Answer `json:"released,omitempty"`
	ClaimedEntries      int             `json:"claimed_entries,omitempty"` // number of releases whose cost Answer is
	Repeated            int             `json:"repeated,omitempty"`        // of a run that made more releases than planned: the j at which Answer is the cost at δ/2^j, see account.Accountants.Claimed
	EpsilonPlain        *float64        `json:"epsilon_plain,omitempty"`   // an upper bound by the formula of accountant.PlainEpsilon
	AddedDelta          float64         `json:"added_delta"`               // bounds what the distance of sampler and noise from their ideal laws adds to δ; nothing is added to ε
	TargetEpsilon       float64         `json:"target_epsilon,omitempty"`
	Method              string          `json:"method"`
	Sampler             string          `json:"sampler"`
	Sampling            string          `json:"sampling"`
	SamplingProbability float64         `json:"sampling_probability"`
	Mechanism           string          `json:"mechanism"`
	Noise               string          `json:"noise"`
	NoiseValues         int             `json:"noise_values"` // coordinates of all releases
	NoiseMultiplier     float64         `json:"noise_multiplier"`
	ClipNorm            float64         `json:"clip_norm"`
	Clipping            string          `json:"clipping"`
	Bound               string          `json:"bound"`
	Features            string          `json:"features,omitempty"`        // what the network sees instead of the examples, computed of each by a function that no example had a part in
	FeatureMean         string          `json:"feature_mean,omitempty"`    // how the mean of the features was released, if it was
	Augmentation        string          `json:"augmentation,omitempty"`    // the views in which the network saw examples, if not as they are
	InitialWeights      string          `json:"initial_weights,omitempty"` // the file that training began with and what it was trained on; "" if random
	FrozenValues        int             `json:"frozen_values,omitempty"`   // parameters that were not trained
	Trained             string          `json:"trained,omitempty"`         // what was, where others were not
	ExpectedBatchSize   float64         `json:"expected_batch_size"`
	MaxSteps            int             `json:"max_steps"`              // steps that the budget allows of the planned ones, fixed before the first
	PlannedSteps        int             `json:"planned_steps"`          // steps that the configuration asks for
	Steps               int             `json:"steps"`                  // updates in the model
	LedgerEntries       int             `json:"ledger_entries"`         // releases that are accounted for; more than steps after a crash
	LedgerHead          string          `json:"ledger_head"`            // hash of the ledger after them
	Models              []string        `json:"models,omitempty"`       // SHA-256 of all models of a selected point
	ModelSHA256         string          `json:"model_sha256,omitempty"` // of the file with the model; "" in statements of earlier versions
	Extended            []Extension     `json:"extended,omitempty"`     // changes of the plan after its first step
	Choices             int             `json:"choices,omitempty"`      // ledger entries that stand for a choice of how much is released: δ is divided by 2^Choices
	Together                            // of all runs on this data, if there are others
	Data                string          `json:"data"`
	Examples            int             `json:"examples"`
	Shape               string          `json:"shape"`          // of one example
	Classes             int             `json:"classes"`        // or labels, or 1 for a number
	Task                data.Task       `json:"task,omitempty"` // what is learnt; "" is a class
	// System is how a run that is no DP-SGD is private, one word such as pate or label; "" is
	// DP-SGD. "none" is a run that is NOT PRIVATE: its Epsilon is [NoGuarantee]. Such runs say what
	// they did in Facts, and the fields of steps and noise above are empty.
	System  string `json:"system,omitempty"`
	Trusted string `json:"trusted,omitempty"` // who sees what before it is private
	Facts   []Fact `json:"facts,omitempty"`
	// NotPrivate lists what the run wrote or treated as public without protection.
	NotPrivate []string `json:"not_private"`
	// Fallbacks are the questions that the configured accountant did not answer and RDP did.
	Fallbacks []account.Fallback `json:"fallbacks,omitempty"`
	// Sum is the SHA-256 of the file without these digits, against edits and damage: a statement
	// goes where no ledger is to hold it against. Those of earlier versions have none.
	Sum string `json:"statement_sum,omitempty"`
}

// Replaced returns (ε, δ) as text for neighbours of which one record is replaced by another one.
// That takes two steps of the relation, one that empties the place and one that fills it (group
// privacy; Dwork, Roth 2014, Theorem 2.2, whose δ is here that of P(S) ≤ e^ε·(e^ε·Q(S) + δ) + δ).
// It is empty for other relations.
func (s Statement) Replaced() string {
	delta := (1 + math.Exp(s.Epsilon)) * s.Delta
	switch {
	case s.Relation != accountant.ZeroOut.String():
		return ""
	case delta >= 1:
		return "nothing"
	case delta > 0:
		unit := math.Pow(10, math.Floor(math.Log10(delta))-1)
		delta = math.Nextafter(math.Ceil(delta/unit)*unit, 1)
	}
	return fmt.Sprintf("(%s, %.2g)", accountant.RoundUp(2*s.Epsilon, 3), delta)
}

// Learnt returns the words for what is learnt about an example, behind a space.
func (s Statement) Learnt() string {
	switch s.Task {
	case data.Labels:
		return fmt.Sprintf(" with %d labels", s.Classes)
	case data.Number:
		return " with a number"
	}
	return fmt.Sprintf(" in %d classes", s.Classes)
}

// Made returns how many releases the run made.
func (s Statement) Made() int { return s.LedgerEntries - s.Choices }

// Stopped reports whether the run ended before it made all releases that the claim is about.
func (s Statement) Stopped() bool { return s.ClaimedEntries > s.Made() && s.Repeated == 0 }

// NoGuarantee stands in files for an infinite ε, which JSON cannot write.
const NoGuarantee = math.MaxFloat64

// NotKnown stands for the ε of releases, chosen on the way, that have none: a δ of their own may be
// too much beside the one that is asked for, or no Rényi divergence of theirs is known.
const NotKnown = "no ε is known that holds whatever is chosen on the way"

// Selection is the System of the best point of a sweep that drew how many points there are.
const Selection = "selection"

// None is the System of a run without privacy: its statement says NOT PRIVATE.
const None = "none"

// Private reports whether there is a guarantee.
func (s Statement) Private() bool { return s.System != None }

// Mechanisms says in one line how the run was private.
func (s Statement) Mechanisms() string {
	if s.System == "" {
		return fmt.Sprintf("DP-SGD: %s; %s; %d updates", s.Sampling, s.Noise, s.Steps)
	}
	var facts []string
	for _, f := range s.Facts {
		facts = append(facts, f.Name+": "+f.Value)
	}
	return s.System + ": " + strings.Join(facts, "; ")
}

// Fact is a row of the statement's table: one thing that a run did.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Extension is a change of a run's plan to more steps, after some of them.
type Extension struct {
	Step        int     `json:"step"`     // the step after which the change was decided
	Releases    int     `json:"releases"` // number of releases in the ledger by then
	FromSteps   int     `json:"from_steps"`
	FromEpsilon float64 `json:"from_epsilon,omitempty"`
	ToSteps     int     `json:"to_steps"`
	ToEpsilon   float64 `json:"to_epsilon,omitempty"`
}

// Together says what a run and the other runs on the same data cost, as far as the run's folder
// knows of them. It is empty if there are no others.
type Together struct {
	DatasetEpsilon  float64 `json:"dataset_epsilon,omitempty"`                   // ε that holds whatever was chosen on the way; in earlier versions' statements what DatasetFixed is
	DatasetFixed    float64 `json:"dataset_epsilon_if_decided_before,omitempty"` // ε that holds if all was decided before any result was seen; 0 in earlier versions' statements
	DatasetDelta    float64 `json:"dataset_delta,omitempty"`                     // the least δ of the runs
	DatasetRuns     int     `json:"dataset_runs,omitempty"`                      // number of runs on the data, this one included
	DatasetReleases int     `json:"dataset_releases,omitempty"`                  // number of releases of all these runs
	// DatasetLimit and DatasetLimitDelta are the limit of the data that the run was made under; 0
	// where there is none. DatasetSpent is what all releases have used of it by the end of the run.
	DatasetLimit      float64 `json:"dataset_limit,omitempty"`
	DatasetLimitDelta float64 `json:"dataset_limit_delta,omitempty"`
	DatasetSpent      float64 `json:"dataset_limit_spent,omitempty"`
	// DatasetOthers says what these figures do not cover, or that there are none; "" in most cases.
	DatasetOthers string `json:"dataset_others,omitempty"`
}

// LimitLine says in one line what limit the data has and how much of it is spent; "" without a
// limit.
func (t Together) LimitLine() string {
	if t.DatasetLimit == 0 {
		return ""
	}
	return fmt.Sprintf("limit ε = %g at δ = %g, of which %s is spent", t.DatasetLimit, t.DatasetLimitDelta, accountant.RoundUp(t.DatasetSpent, 3))
}

// NotKnown reports whether no total is known that holds whatever was chosen on the way.
func (t Together) NotKnown() bool { return t.DatasetEpsilon == NoGuarantee }

// DatasetTotal says in one line what all runs on the data cost together; "" if there are no others.
func (t Together) DatasetTotal() string {
	if t.DatasetRuns == 0 {
		return ""
	}
	line := fmt.Sprintf("ε = %s at δ = %g for all %d runs together", accountant.RoundUp(t.DatasetEpsilon, 3), t.DatasetDelta, t.DatasetRuns)
	if t.NotKnown() {
		return fmt.Sprintf("%s at δ = %g for all %d runs together; %s if all was decided before any result was seen", NotKnown, t.DatasetDelta, t.DatasetRuns, accountant.RoundUp(t.DatasetFixed, 3))
	}
	if t.DatasetFixed > 0 {
		line += fmt.Sprintf(", whatever was chosen on the way; %s if all was decided before any result was seen", accountant.RoundUp(t.DatasetFixed, 3))
	}
	return line
}

//go:embed *.tmpl
var texts embed.FS

// Cell returns text for a cell of a table in Markdown, with each | escaped: it would end the cell.
func Cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

var templates = template.Must(template.New(folder.Statement).Funcs(template.FuncMap{
	"up":    func(epsilon float64) string { return accountant.RoundUp(epsilon, 3) },
	"left":  func(budget, spent float64) string { return accountant.RoundDown(budget-spent, 3) },
	"below": powerAbove, "percent": percent, "cell": Cell,
	"prior": func(p float64) string { return fmt.Sprintf("%g", 100*p) },
}).ParseFS(texts, "*.tmpl"))

// powerAbove returns the smallest power of ten that is at least x and at least 1e-300, as in 1e-5.
func powerAbove(x float64) string {
	return fmt.Sprintf("1e%d", max(-300, int(math.Ceil(math.Log10(x)))))
}

// percent returns probability p in percent, to four significant digits or to more near 100 %. It
// rounds up if up is true, and else down; then it returns "0" for less than 1e-9 %.
func percent(p float64, up bool) string {
	x := 100 * p
	if !(x >= 1e-9) && !up {
		return "0"
	}
	if x == 100 {
		return "100"
	}
	decimals := 3 - int(math.Floor(math.Log10(max(x, 1e-9))))
	if rest := 100 - x; x > 99.9 && rest > 0 {
		decimals = min(9, 1-int(math.Floor(math.Log10(rest))))
	}
	if !up {
		return accountant.RoundDown(x, decimals)
	}
	return accountant.RoundUp(x, decimals)
}

// Beliefs returns, for several probabilities with which somebody believed that a record was there,
// bounds of his belief once he has seen everything that was released.
func (s Statement) Beliefs() []accountant.Belief {
	beliefs, _ := accountant.Beliefs(s.Epsilon, s.Delta)
	return beliefs
}

// Except bounds the probability of the results for which Beliefs does not hold.
func (s Statement) Except() float64 {
	_, except := accountant.Beliefs(s.Epsilon, s.Delta)
	return except
}

// Markdown returns the statement in words, the content of privacy.md.
func (s Statement) Markdown() ([]byte, error) {
	var b bytes.Buffer
	name := "system.md.tmpl"
	switch s.System {
	case "":
		name = "privacy.md.tmpl"
	case None:
		name = "none.md.tmpl"
	}
	if err := templates.ExecuteTemplate(&b, name, s); err != nil {
		return nil, fmt.Errorf("train: privacy statement: %w", err)
	}
	return b.Bytes(), nil
}

// Write writes privacy.json and privacy.md into the folder of a run.
func (s Statement) Write(dir string) error {
	return s.writeAs(filepath.Join(dir, folder.StatementData), filepath.Join(dir, folder.Statement))
}

// WriteSelected writes the statement, that of a sweep's best point, into the folder of the sweep.
func (s Statement) WriteSelected(sweep string) error {
	return s.writeAs(filepath.Join(sweep, folder.SelectedData), filepath.Join(sweep, folder.Selected))
}

func (s Statement) writeAs(data, words string) error {
	text, err := s.Markdown()
	if err != nil {
		return err
	}
	s.Sum = strings.Repeat("0", 2*sha256.Size)
	encoded, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("train: privacy statement: %w", err)
	}
	before, _, after := summed(append(encoded, '\n'))
	if err := checkpoints.RefuseIrregular(words); err != nil { // before the other file is written
		return err
	}
	if err := checkpoints.WriteFileAtomic(data, fmt.Appendf(nil, "%s%s%s", before, sumOf(before, after), after), folder.FilePerm); err != nil {
		return err
	}
	return checkpoints.WriteFileAtomic(words, text, folder.FilePerm)
}

// Read reads privacy.json in dir, the folder of a run. It refuses a file that does not match the
// checksum in it. If the run has not ended, the error matches fs.ErrNotExist.
func Read(dir string) (Statement, error) { return read(filepath.Join(dir, folder.StatementData)) }

// ReadSelected reads the statement that [Statement.WriteSelected] wrote into the folder of a sweep.
func ReadSelected(sweep string) (Statement, error) {
	return read(filepath.Join(sweep, folder.SelectedData))
}

func read(path string) (Statement, error) {
	content, err := disk.ReadFile(path)
	if err != nil {
		return Statement{}, fmt.Errorf("train: %w", err)
	}
	var s Statement
	if err := json.Unmarshal(content, &s); err != nil {
		return Statement{}, fmt.Errorf("train: %s: found no statement that can be read (%w), expected what the run wrote: %w", path, err, checkpoints.ErrCorrupt)
	}
	if before, sum, after := summed(content); s.Sum != "" && string(sum) != sumOf(before, after) {
		return Statement{}, fmt.Errorf("train: %s: found other content than its statement_sum stands for, expected what the run wrote (without the file, `train resume` writes it again): %w", path, checkpoints.ErrCorrupt)
	}
	if s.Relation == accountant.AddOrRemoveOne.String() { // so earlier versions called what they defined as this
		s.Relation = accountant.ZeroOut.String()
	}
	return s, nil
}

// sumKey stands in front of the checksum in a file.
const sumKey = `"statement_sum": "`

// summed splits the content of a file into what precedes its checksum, the checksum and the rest.
// If the file has no checksum, before is all of it.
func summed(content []byte) (before, sum, after []byte) {
	at := bytes.LastIndex(content, []byte(sumKey)) + len(sumKey)
	if at < len(sumKey) || at+2*sha256.Size > len(content) {
		return content, nil, nil
	}
	return content[:at], content[at : at+2*sha256.Size], content[at+2*sha256.Size:]
}

func sumOf(before, after []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(slices.Concat(before, after)))
}

// Understates reports whether the statement claims less than epsilon, the cost of its ledger: then
// it was edited or damaged. Versions of an accountant differ by less than a thousandth.
func (s Statement) Understates(epsilon float64) bool { return !(s.Epsilon >= 0.999*epsilon) }
