package gradients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"dpsgd/clip"
	"dpsgd/internal/folder"
	"dpsgd/perexample"
)

// Assignment names the engine that handles the per-example gradients of one parameter.
type Assignment struct {
	Parameter string            `json:"parameter"`
	Engine    perexample.Engine `json:"engine"` // ghost or materialise
}

// Engines lists the parameters of the network, in their order, with their engines.
func (g *Gradients) Engines() []Assignment {
	list := make([]Assignment, len(g.engines))
	for i, u := range g.network.Uses {
		list[i] = Assignment{u.Parameter, g.engines[i]}
	}
	return list
}

// maxGradientBytes limits the memory that stored per-example gradients may take together;
// parameters beyond it use the ghost engine.
const maxGradientBytes = 128 << 20

// chooseEngines returns for every use the engine that the configuration names, or with "auto" the
// faster one. Shapes alone decide: no example takes part in the choice.
func chooseEngines(uses []perexample.Use, batch int, engine string) []perexample.Engine {
	if one, ok := named(engine, len(uses)); ok {
		return one
	}
	return perexample.Choose(rulesOf(uses), batch, maxGradientBytes)
}

// named returns the engine of that name, once for each use. It reports false for any other name.
func named(engine string, uses int) ([]perexample.Engine, bool) {
	var one perexample.Engine
	err := one.UnmarshalText([]byte(engine))
	return slices.Repeat([]perexample.Engine{one}, uses), err == nil
}

func rulesOf(uses []perexample.Use) (rules []perexample.Rule) {
	for _, u := range uses {
		rules = append(rules, u.Rule)
	}
	return rules
}

// Choice is the content of engines.json: the engines that a run began with, and what they
// were chosen for. A resumed run keeps them, whatever a later version chooses. The file is public:
// it is a function of the configuration and of the shapes of layers.
type Choice struct {
	Setting           string       `json:"engine"` // performance.engine
	PhysicalBatchSize int          `json:"physical_batch_size"`
	Parameters        []ruleEngine `json:"parameters"` // of the network, in their order
}

// ruleEngine is an assignment with the rule that it was made for.
type ruleEngine struct {
	Assignment
	Rule string `json:"rule"` // the rule's type, and the shape of the layer
}

// Choice returns what engines.json holds for this graph, with setting as performance.engine.
func (g *Gradients) Choice(setting string) Choice {
	c := Choice{Setting: setting, PhysicalBatchSize: g.input.batch}
	for i, t := range g.Engines() {
		c.Parameters = append(c.Parameters, ruleEngine{t, describeRule(g.network.Uses[i].Rule)})
	}
	return c
}

// describeRule returns the type of a rule and the shape of its layer.
func describeRule(r perexample.Rule) string { return fmt.Sprintf("%T%+v", r, r) }

// engines returns the kept engines; ok is false if they were chosen for other uses, another
// physical batch size or another performance.engine.
func (c Choice) engines(uses []perexample.Use, batch int, setting string) (engines []perexample.Engine, ok bool) {
	if c.Setting != setting || c.PhysicalBatchSize != batch || len(c.Parameters) != len(uses) {
		return nil, false
	}
	for i, p := range c.Parameters {
		if p.Parameter != uses[i].Parameter || p.Rule != describeRule(uses[i].Rule) {
			return nil, false
		}
		engines = append(engines, p.Engine)
	}
	return engines, true
}

func (c Choice) encode() []byte {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // strings and numbers can be written
	}
	return append(text, '\n')
}

// ReadChoice reads engines.json from the folder of a run. For a file that is missing, or is not as
// [Choice.Keep] writes it, it returns the zero Choice: engines are chosen again.
func ReadChoice(dir string) (kept Choice) {
	text, err := os.ReadFile(filepath.Join(dir, folder.Engines))
	if err != nil || json.Unmarshal(text, &kept) != nil || !bytes.Equal(kept.encode(), text) {
		return Choice{}
	}
	return kept
}

// Keep writes the choice to engines.json in a folder, unless the file holds the same choice.
func (c Choice) Keep(dir string) error {
	return folder.Replace(filepath.Join(dir, folder.Engines), c.encode())
}

// Written writes out what one example contributes to a batch of Contributions: a gradient for each
// parameter, in float64.
func (g *Gradients) Written(b clip.Batch, example int) [][]float64 {
	gradients := make([][]float64, len(g.network.Uses))
	for i, owner := range g.owners {
		size := len(gradients[owner]) + b.Parts[i].Size()
		to := &gradients[owner]
		switch p := b.Parts[i].(type) {
		case clip.Rows:
			p.Form(0, example, func(piece []float32) {
				for _, v := range piece {
					*to = append(*to, float64(v))
				}
			})
		case clip.Outer:
			for _, z := range p.Z[example*p.Out : (example+1)*p.Out] {
				for _, x := range p.X[example*p.In : (example+1)*p.In] {
					*to = append(*to, float64(z)*float64(x))
				}
			}
		}
		*to = append(*to, make([]float64, size-len(*to))...) // a part that ends early ends with zeros
	}
	return gradients
}

// Owner returns the parameter, by its place in the network, that a part of a batch of Contributions
// belongs to.
func (g *Gradients) Owner(part int) int { return g.owners[part] }

// SquaredNorms returns the squared norms that the graph found for the batch that it computed last:
// a slice for each parameter, with a value for each example. The next call of Contributions
// overwrites them.
func (g *Gradients) SquaredNorms() [][]float64 { return g.squares }
