package main

import (
	"fmt"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/trained"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

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
