package pictures

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// formats maps the extension of a file's name to the format, as image.Decode calls it, for all
// formats that are read. Of a file with several pictures the first is read.
var formats = map[string]string{
	".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".bmp": "bmp", ".gif": "gif", ".tif": "tiff", ".tiff": "tiff", ".webp": "webp",
}

// Extensions lists the extensions of the files that are read, for messages.
func Extensions() string { return strings.Join(slices.Sorted(maps.Keys(formats)), ", ") }

// Known reports whether a file's name has the extension, in any case, of a format that is read.
func Known(name string) bool { return formats[extension(name)] != "" }

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// Others counts files that are no pictures, or of a format that is not read, by their extension.
type Others map[string]int

// Add counts a file.
func (o Others) Add(name string) { o[extension(name)]++ }

// Join adds the counts of more.
func (o Others) Join(more Others) {
	for ext, n := range more {
		o[ext] += n
	}
}

// Len returns the number of files counted.
func (o Others) Len() (n int) {
	for _, of := range o {
		n += of
	}
	return n
}

// TooMany reports whether there are so many other files that they look like pictures in the wrong
// format, or like a mistake: more than two, and more than one for every ten pictures.
func (o Others) TooMany(pictures int) bool { return o.Len() > max(2, pictures/10) }

// String counts the files of each kind, as in "3 files (2 .heic, 1 .txt)".
func (o Others) String() string {
	kinds := make([]string, 0, len(o))
	for _, ext := range slices.Sorted(maps.Keys(o)) {
		kind := ext
		if ext == "" {
			kind = "without extension"
		}
		kinds = append(kinds, fmt.Sprintf("%d %.20s", o[ext], kind))
	}
	files := "files"
	if o.Len() == 1 {
		files = "file"
	}
	return fmt.Sprintf("%d %s (%s)", o.Len(), files, strings.Join(kinds, ", "))
}
