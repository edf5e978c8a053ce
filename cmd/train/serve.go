package main

import (
	"fmt"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/web"

	"github.com/spf13/cobra"
)

func serveFlag(c *cobra.Command, address *string) {
	c.Flags().StringVar(address, "serve", "", "show the job in a browser while it goes on, as in --serve or --serve=127.0.0.1:9000")
	c.Flags().Lookup("serve").NoOptDefVal = web.Default
}

// followed calls work, with a page about it if there is an address. An address that cannot be had
// ends the command before anything is done.
func followed(a *shell.App, address string, work func(*web.Page) error) error {
	if address == "" {
		return work(nil)
	}
	page, err := web.Follow(address, version())
	if err != nil {
		return shell.AsUsage(fmt.Errorf("--serve: %w", err))
	}
	fmt.Fprintf(a.Err, "train: live view at %s\n", page.URL())
	err = work(page)
	if problem := page.Close(); problem != nil {
		a.Warn(fmt.Sprintf("the live view ended early: %v", problem)) // the work is done all the same
	}
	return err
}
