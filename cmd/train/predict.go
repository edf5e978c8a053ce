package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/kernel"
	"dpsgd/internal/setup"
	"dpsgd/internal/trained"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

func predictCommand(a *shell.App) *cobra.Command {
	var asCSV bool
	top := 3
	c := &cobra.Command{
		Use:   "predict RUN PICTURE…|FOLDER|TABLE.csv|TEXTS.txt",
		Short: "Predict the classes of pictures, texts or rows of a table",
		Long: `Predict the classes of pictures, texts or rows of a table.

Pictures are resized and turned into what the network sees exactly as the training pictures were. Of a folder,
all pictures in it and below it are predicted. A run on a table takes .csv files with its columns, and a run on
texts .txt files with a text in each line, .csv, .jsonl or .parquet files. Rows and texts are numbered from 1,
without empty lines. The data of the run are not needed.

With --json there is one object on a line for each picture: file, class, probability, classes.`,
		Example: `  train predict runs/digits-1 picture.png
  train predict runs/own-1 my-pictures/test --csv > answers.csv
  train predict runs/table-1 people.csv --json`,
		Args: shell.Args(2, 1<<30, "at least two: the folder of a run, and pictures, a folder of them or a table"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case top < 0:
				return shell.Usagef("found --top %d, expected at least 0 (0 is all classes)", top)
			case asCSV && a.JSON:
				return shell.Usagef("found --csv and --json, expected one of the two")
			}
			return withModel(a, args[0], func(m *trained.Model, p *trained.Predictor) error {
				p.Top = top
				print := text(a.Out)
				switch {
				case a.JSON:
					print = func(answer trained.Answer) error { return a.PrintJSON(answer) }
				case asCSV:
					print = lines(a.Out, m.Sees() != trained.Pictures)
				}
				return modelAnswer(a, c, m, p, args[1:], print)
			})
		},
	}
	c.Flags().BoolVar(&asCSV, "csv", false, "print comma-separated values: file, class, probability, and the next classes with theirs, or file and number")
	c.Flags().IntVar(&top, "top", top, "number of classes in an answer; 0 is all of them")
	return c
}

// modelAnswer predicts the pictures or tables of rows in paths, and calls print with each answer.
func modelAnswer(a *shell.App, c *cobra.Command, m *trained.Model, p *trained.Predictor, paths []string, print func(trained.Answer) error) error {
	if m.Sees() != trained.Pictures {
		predict := p.Table
		if m.Sees() == trained.Texts {
			predict = p.Texts
		}
		for _, path := range paths {
			if err := predict(c.Context(), path, print); err != nil {
				return err
			}
		}
		return nil
	}
	files, others, err := trained.List(paths)
	if err != nil {
		return err
	}
	if others.Len() > 0 {
		a.Warn(fmt.Sprintf("found %s beside the pictures, passed over", others))
	}
	return p.Pictures(c.Context(), files, print)
}

// text returns a function that writes an answer to w as a line for people.
func text(w io.Writer) func(trained.Answer) error {
	return func(answer trained.Answer) error {
		line := answer.File
		if answer.Row > 0 {
			line += fmt.Sprintf(" example %d", answer.Row)
		}
		if answer.Number != nil {
			line += fmt.Sprintf("  %.6g", *answer.Number)
		}
		for _, s := range answer.Classes {
			line += fmt.Sprintf("  %s %.1f %%", s.Class, 100*s.Probability)
		}
		_, err := fmt.Fprintln(w, line)
		return err
	}
}

// lines returns a function that writes answers to w as comma-separated values, the heading first;
// with rows, each with the number of its row.
func lines(w io.Writer, rows bool) func(trained.Answer) error {
	table := csv.NewWriter(w)
	begun := false
	return func(answer trained.Answer) error {
		heading, line := []string{"file"}, []string{answer.File}
		if rows {
			heading, line = append(heading, "row"), append(line, strconv.Itoa(answer.Row))
		}
		if answer.Number != nil {
			heading, line = append(heading, "number"), append(line, strconv.FormatFloat(*answer.Number, 'g', -1, 64))
		}
		for i, s := range answer.Classes {
			number := ""
			if i > 0 {
				number = strconv.Itoa(i + 1)
			}
			heading = append(heading, "class"+number, "probability"+number)
			line = append(line, s.Class, strconv.FormatFloat(s.Probability, 'g', -1, 64))
		}
		if !begun {
			begun = true
			table.Write(heading) // an error stays until the end
		}
		table.Write(line)
		table.Flush()
		return table.Error()
	}
}

// withModel opens a run and calls work with its model and predictor.
func withModel(a *shell.App, run string, work func(*trained.Model, *trained.Predictor) error) error {
	m, err := trained.Open(run)
	if err != nil {
		return err
	}
	announce(a, m)
	pool := kernel.NewPool(setup.Threads(m.Config))
	defer pool.Close()
	p, err := trained.New(m, pool)
	if err != nil {
		return err
	}
	return work(m, p)
}

// announce says that pictures are drawn, which takes a while, if the network sees features.
func announce(a *shell.App, m *trained.Model) {
	if m.Config.Features.Any() {
		fmt.Fprintf(a.Err, "train: drawing %d pictures for the features %s, which takes up to a minute\n", m.Config.Features.Pictures, m.Config.Features.Transform.Name())
	}
}

func serveCommand(a *shell.App) *cobra.Command {
	address := web.Default
	c := &cobra.Command{
		Use:   "serve RUN",
		Short: "Show a page that tells the class of a picture or a text",
		Long: `Show a page on which one draws a picture, or writes a text, and sees its class, until ctrl-C. Programs send
the bytes of a picture or a text to the page's URL with "predict" behind it, and get the object that train predict --json prints.

Only this machine can reach it unless --address says otherwise; then the URL has a token that is drawn at random.
Nothing that is sent is kept.`,
		Example: `  train serve runs/digits-1
  train serve runs/digits-1 --address :8080
  curl --data-binary @picture.png http://127.0.0.1:8080/predict`,
		Args: shell.Args(1, 1, oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			server, err := web.Listen(address, web.PredictionLimits())
			if err != nil {
				return err
			}
			defer server.Close()
			return withModel(a, args[0], func(m *trained.Model, p *trained.Predictor) error {
				handler, err := web.Predictions(m, p)
				if err != nil {
					return err
				}
				if err := announceURL(a, args[0], server); err != nil {
					return err
				}
				defer a.Ending()()
				return server.Serve(c.Context(), handler)
			})
		},
	}
	c.Flags().StringVar(&address, "address", address, "host and port to listen on; port 0 takes a free one, no host all addresses of the machine")
	return c
}

// announceURL prints the URL of the page. Without --json it warns if other machines can reach it.
func announceURL(a *shell.App, run string, s *web.Server) error {
	if a.JSON {
		return a.PrintJSON(map[string]string{"url": s.URL()})
	}
	if !s.Local() {
		a.Warn("others can reach this address: whoever has the whole URL can ask the model")
	}
	_, err := fmt.Fprintf(a.Out, "%s is at %s (ctrl-C ends it)\n", run, s.URL())
	return err
}
