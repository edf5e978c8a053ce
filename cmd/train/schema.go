package main

import (
	"bytes"
	"encoding/json"

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
			if a.json {
				return a.printJSON(json.RawMessage(configs.Schema()))
			}
			_, err := a.out.Write(append(bytes.TrimRight(configs.Schema(), "\n"), '\n'))
			return err
		},
	}
}
