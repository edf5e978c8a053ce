package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"dpsgd/cmd/train/internal/shell"
	"dpsgd/internal/kernel"

	"github.com/spf13/cobra"
)

// build is what `train version` prints.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // the commit of the source, with "+" behind it if the source was changed
	Go       string `json:"go"`
	System   string `json:"system"`
	Kernels  string `json:"kernels"`       // which float32 kernels run on this processor
	MPI      string `json:"mpi,omitempty"` // the library, of a program that can open one
}

func versionCommand(a *shell.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, Go version, system and the kernels in use",
		Args:  shell.None,
		RunE: func(c *cobra.Command, args []string) error {
			b := thisBuild()
			b.MPI = mpiLibrary()
			return a.Print(b, nil, func(w io.Writer) {
				fmt.Fprintf(w, "train %s %s %s kernels=%s", b.Version, b.Go, b.System, b.Kernels)
				if b.Revision != "" {
					fmt.Fprintf(w, " revision=%s", b.Revision)
				}
				if b.MPI != "" {
					fmt.Fprintf(w, " mpi=%q", b.MPI)
				}
				fmt.Fprintln(w)
			})
		},
	}
}

// version returns what --version prints behind the name of the program.
func version() string { return thisBuild().Version }

func thisBuild() build {
	kernels, _ := kernel.Selected() // the root command refuses a name that is not there
	b := build{Version: "(unknown)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Kernels: kernels}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	b.Revision = settings["vcs.revision"]
	if settings["vcs.modified"] == "true" {
		b.Revision += "+"
	}
	return b
}
