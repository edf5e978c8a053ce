package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/configs"

	"github.com/spf13/cobra"
)

func schemaCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of configuration files, for editors",
		Long: `Print the JSON schema of configuration files. Editors that know YAML complete and check a configuration that begins with

  # yaml-language-server: $schema=schema.json

and lies beside the file schema.json.`,
		Example: "  train schema > schema.json",
		Args:    shell.None,
		RunE: func(c *cobra.Command, args []string) error {
			return a.Print(json.RawMessage(configs.Schema()), func(w io.Writer) {
				fmt.Fprintf(w, "%s\n", bytes.TrimRight(configs.Schema(), "\n"))
			})
		},
	}
}
