package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"dpsgd/configs"

	"github.com/spf13/cobra"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON schema of configuration files, for editors",
		Example: "  train schema > configs/schema.json",
		Args:    args(0, 0, "none"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.print(json.RawMessage(configs.Schema()), func(w io.Writer) {
				fmt.Fprintf(w, "%s\n", bytes.TrimRight(configs.Schema(), "\n"))
			})
		},
	}
}
