package main

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// file is one that a package holds.
type file struct {
	Name    string // with slashes, relative to where the package is unpacked
	Content []byte
	Link    string // what a symbolic link points to, which has no content
	Program bool   // anyone may execute it
}

func (f file) mode() fs.FileMode {
	switch {
	case f.Link != "":
		return 0o777
	case f.Program:
		return 0o755
	}
	return 0o644
}

// below moves files into a folder.
func below(folder string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].Name = path.Join(folder, moved[i].Name)
	}
	return moved
}

// sorted puts files in the order of their names, which packages keep.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.Name, b.Name) })
}

// folders are those that sorted files lie in, each after the one that it lies in.
func folders(files []file) []string {
	var all []string
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			all = append(all, dir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
