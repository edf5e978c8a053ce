package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// shA256 is the hash of a file in hexadecimal digits.
func shA256(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// checksums lists the hashes of files by their names, as `sha256sum --check` reads them.
func checksums(hashes map[string]string) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		fmt.Fprintf(&b, "%s  %s\n", hashes[name], name)
	}
	return b.Bytes()
}
