package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"
	"dpsgd/internal/setup"
	"dpsgd/internal/speed"

	"github.com/spf13/cobra"
)

// planFlags holds the flags of `train plan`: the request, and what read makes a part of it from.
type planFlags struct {
	speed.Request
	threads int
	network string // the rate between ranks, such as 25Gb
	seconds float64
}

// Limits of the flags of `train plan`.
const (
	mostRanks       = 1_000_000
	mostPlanSeconds = 3600
)

func planCommand(a *shell.App) *cobra.Command {
	var f planFlags
	var set []string
	c := &cobra.Command{
		Use:   "plan [CONFIG|PRESET]",
		Short: "Say how fast a run is on many ranks, and where more do not pay",
		Long: `Say how long a step would take on many ranks, each a machine or a part of one like this, and what of it is spent on
what. The parts of a step are measured here, on random examples in memory; the network between the ranks is a model.
Nothing is trained, examples of your own are counted alone, and no other machine is needed. docs/scale.md says how to read it.`,
		Example: `  train plan cifar-best --ranks 16 --network 25Gb
  train plan mnist-cnn --ranks 2 --network 1Gb --latency 1ms --threads 1
  train plan my.yaml --ranks 64 --set training.batch_size=16384 --json`,
		Args: shell.Args(0, 1, oneConfig),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.read(c); err != nil {
				return err
			}
			name := shell.First(args, configs.DefaultPreset)
			config, err := configs.Load(name, set)
			if err != nil {
				return shell.AsUsage(err)
			}
			if f.threads > 0 {
				config.Performance.Threads = f.threads
			}
			p, err := speed.OnRanks(c.Context(), config, f.Request)
			show := shell.Show(a, func(w io.Writer, p *speed.Plan) { printPlan(w, p, f) })
			return show(p, configs.Placed(shell.Ended(c.Context(), err), name, set))
		},
	}
	c.Flags().IntVar(&f.Ranks, "ranks", 16, "processes that carry out the run together")
	c.Flags().StringVar(&f.network, "network", "25Gb", "bits a second of each rank's connection: 25Gb, 1Gb, 100Mb")
	c.Flags().DurationVar(&f.Network.Latency, "latency", 25*time.Microsecond, "delay of one message between two ranks")
	c.Flags().IntVar(&f.threads, "threads", 0, "threads of each rank (default: those of the configuration, or all cores)")
	examplesFlag(c, &f.Examples)
	c.Flags().Float64Var(&f.seconds, "seconds", 5, "about how long to measure")
	setFlag(c, &set)
	return c
}

// read checks the flags, and sets the rate of the network and the time to measure in the request.
func (f *planFlags) read(c *cobra.Command) (err error) {
	changed := c.Flags().Changed
	switch {
	case f.Ranks < 1 || f.Ranks > mostRanks:
		return shell.Usagef("found --ranks %d, expected 1 to %d", f.Ranks, mostRanks)
	case f.Network.Latency < 0 || f.Network.Latency > time.Minute:
		return shell.Usagef("found --latency %v, expected 0s to 1m", f.Network.Latency)
	case changed("threads") && (f.threads < 1 || f.threads > runtime.NumCPU()):
		return shell.Usagef("found --threads %d, expected 1 to the %d cores of this machine, on which steps are measured", f.threads, runtime.NumCPU())
	case changed("examples") && f.Examples < 1:
		return shell.Usagef("found --examples %d, expected at least 1", f.Examples)
	case !(f.seconds > 0 && f.seconds <= mostPlanSeconds):
		return shell.Usagef("found --seconds %g, expected a number above 0 and at most %d", f.seconds, mostPlanSeconds)
	}
	f.Measure = time.Duration(f.seconds * float64(time.Second))
	if f.Network.Rate, err = speed.ParseRate(f.network); err != nil {
		return shell.Usagef("--network: %w", err)
	}
	return nil
}

func printPlan(w io.Writer, p *speed.Plan, f planFlags) {
	fmt.Fprintf(w, "%s, %s parameters, batch %s\n", p.Network, shell.Count(p.Parameters), batchCount(p.Batch))
	fmt.Fprintf(w, "%s ranks of %d threads, %s, %v a message\n\n", shell.Count(p.Ranks), p.Threads, f.network, f.Network.Latency)
	printMeasured(w, p.Measured)
	printStep(w, p)
	printPlanTable(w, "ranks", p.Rows, func(r speed.Row) string { return shell.Count(r.Ranks) })
	l := p.Limits
	fmt.Fprintf(w, "\nlimits    efficiency falls below 90 %% %s and below 50 %% %s;\n          steps are fastest on %s ranks\n", planLimit(l.Below90, l), planLimit(l.Below50, l), shell.Count(l.Fastest))
	if len(p.Batches) > 1 && p.Ranks > 1 {
		printPlanTable(w, "batch", p.Batches, func(r speed.Row) string { return batchCount(r.Batch) })
		fmt.Fprintf(w, "\nA larger batch costs privacy, or other noise: train describe --set training.batch_size=…\n")
	}
	total := p.Memory.Total() + p.Messages
	fmt.Fprintf(w, "\nmemory    about %s a rank: graph %s, parameters %s, examples %s\n", setup.Bytes(total),
		setup.Bytes(p.Memory.Graph), setup.Bytes(p.Memory.Parameters+p.Messages), setup.Bytes(p.Memory.Examples))
}

func printMeasured(w io.Writer, m speed.Machine) {
	table := [][]string{{"measured on this machine", "ms"}}
	add := func(name string, ms float64) {
		table = append(table, []string{name, shell.Decimals(ms, 3)})
	}
	for _, g := range m.Graphs {
		add(fmt.Sprintf("gradients of %s at once", shell.Count(g.Examples)), g.MS)
	}
	add("a sample", m.Sample)
	add("a sum sent and taken back", m.Merge)
	add("adding one sum to another", m.Add)
	add("an event on disk", m.Event)
	add("a checkpoint on disk", m.Checkpoint)
	add("noise and update", m.Update)
	add("an evaluation", m.Evaluation)
	shell.PrintTable(w, table)
}

// printStep writes which part of a step on p.Ranks ranks takes how long.
func printStep(w io.Writer, p *speed.Plan) {
	var row speed.Row
	for _, r := range p.Rows {
		if r.Ranks == p.Ranks {
			row = r
		}
	}
	table := [][]string{{fmt.Sprintf("a step on %s ranks", shell.Count(p.Ranks)), "ms", "% of it"}}
	for _, part := range p.Parts {
		table = append(table, []string{part.Name, shell.Decimals(part.MS, 3), shell.Decimals(100*part.MS/row.StepMS, 1)})
	}
	table = append(table, []string{"total", shell.Decimals(row.StepMS, 3), "100.0"})
	fmt.Fprintln(w)
	shell.PrintTable(w, table)
	fmt.Fprintf(w, "\nspeed     %.1f times that of one rank, efficiency %s %%; %s steps take %s\n", row.Speedup, shell.Decimals(100*row.Efficiency, 1),
		shell.Count(p.Steps), shell.Duration(float64(p.Steps)*row.StepMS/1e3))
}

// printPlanTable writes a table of rows that differ in the number of ranks or in the batch. by is
// the heading of the first column, and number returns its cell.
func printPlanTable(w io.Writer, by string, rows []speed.Row, number func(speed.Row) string) {
	fmt.Fprintln(w)
	shell.PrintRows(w, []string{by, "step ms", "speed-up", "efficiency %", "most, but for gradients"}, rows, func(r speed.Row) []string {
		return []string{number(r), shell.Decimals(r.StepMS, 2), shell.Decimals(r.Speedup, 2), shell.Decimals(100*r.Efficiency, 1),
			fmt.Sprintf("%s, %s %%", r.Most, shell.Decimals(100*r.MostShare, 1))}
	})
}

// planLimit returns words for the number of ranks that passes a limit; 0 is none that was tried.
func planLimit(ranks int, l speed.Limits) string {
	if ranks == 0 {
		return fmt.Sprintf("nowhere up to %s ranks", shell.Count(l.Searched))
	}
	return fmt.Sprintf("at %s ranks", shell.Count(ranks))
}

func batchCount(batch float64) string { return shell.Count(int(math.Round(batch))) }
