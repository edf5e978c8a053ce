package pictures

import (
	"fmt"
	"image"
	_ "image/gif"  // registers the decoder
	_ "image/jpeg" // registers the decoder
	_ "image/png"  // registers the decoder
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "golang.org/x/image/bmp" // registers the decoder
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	_ "golang.org/x/image/webp" // registers the decoder
)

// Size is the size to which pictures are brought: height and width in pixels, and 1 channel (grey)
// or 3 (red, green, blue).
type Size struct{ Height, Width, Channels int }

// Limits of one file.
const (
	MaxBytes  = 64 << 20  // of one file
	MaxPixels = 64 << 20  // of one decoded picture, about 8,000 by 8,000
	maxSide   = 1<<16 - 1 // in pixels, as of a JPEG: stretching takes memory for rows, and tiles of a TIFF take time
)

// Read decodes one file into dst, as [Decode] does. The error does not name the file.
func Read(path string, size Size, dst []uint8) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkSize(info.Size()); err != nil {
		return err
	}
	return Decode(f, MaxPixels, size, dst)
}

// Decode decodes a picture of at most maxPixels pixels into dst, height·width·channels bytes in
// that order. It checks the size in the header before it takes memory for the pixels.
func Decode(r io.ReadSeeker, maxPixels int, size Size, dst []uint8) error {
	config, format, err := image.DecodeConfig(io.LimitReader(r, MaxBytes))
	if err != nil {
		return fmt.Errorf("cannot be decoded as a picture (%s): %w", Extensions(), err)
	}
	if !slices.Contains(slices.Collect(maps.Values(formats)), format) { // a decoder that another package registered
		return fmt.Errorf("the format is %s, expected that of a picture (%s)", format, Extensions())
	}
	if config.Width < 1 || config.Height < 1 || config.Height > maxPixels/config.Width || max(config.Width, config.Height) > maxSide {
		return fmt.Errorf("%d by %d pixels, expected 1 to %d in all, and sides of at most %d", config.Width, config.Height, maxPixels, maxSide)
	}
	about := tagsOf(r, format)
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var decoded image.Image
	if format != "tiff" {
		decoded, _, err = image.Decode(io.LimitReader(r, MaxBytes))
	} else if err = about.refuse(); err == nil {
		decoded, err = tiff.Decode(r) // whose tiles may be one place of the file, which r is asked for each time
	}
	if err != nil {
		return fmt.Errorf("cannot be decoded: %w", err)
	}
	if page := image.Rect(0, 0, config.Width, config.Height); format == "gif" && decoded.Bounds() != page {
		return fmt.Errorf("found a GIF of which the first picture is %v of a page of %v, expected one that fills it", decoded.Bounds(), page)
	}
	if decoded, err = mended(decoded, format, about); err != nil {
		return err
	}
	store(dst, decoded, size, about.orientation())
	return nil
}

// mended returns the decoded picture m, in which it corrects what the decoders of
// golang.org/x/image v0.47.0 do wrong. format and about are the file's format and tags.
func mended(m image.Image, format string, about tags) (image.Image, error) {
	if format == "webp" {
		return ofVideo(m), nil
	}
	if format == "tiff" && about.fax() && about[tagPhotometric] == blackIsZero {
		// White runs of Group 3 and 4 are zeros, whatever zeros stand for: TIFF 6.0, sections 10
		// and 11. Package tiff takes them for white.
		grey, ok := m.(*image.Gray)
		if !ok {
			return nil, fmt.Errorf("found a TIFF packed as by a fax machine that holds %T, expected black and white", m)
		}
		for i := range grey.Pix {
			grey.Pix[i] = ^grey.Pix[i]
		}
	}
	return m, nil
}

// ofVideo converts m, a decoded WebP with loss, to RGB as libwebp does (src/dsp/yuv.h): its luma
// goes from 16 to 235 and its chroma from 16 to 240. Package image takes the pixels for those of a
// JPEG, 0 to 255 (https://go.dev/issue/40173). It returns a WebP without loss as it is.
func ofVideo(m image.Image) image.Image {
	var of image.YCbCr
	alpha := func(x, y int) uint8 { return 255 }
	switch m := m.(type) {
	case *image.YCbCr:
		of = *m
	case *image.NYCbCrA:
		of = m.YCbCr
		alpha = func(x, y int) uint8 { return m.A[m.AOffset(x, y)] }
	default:
		return m
	}
	out := image.NewNRGBA(of.Rect)
	clamp := func(v int) uint8 { return uint8(min(max(v>>6, 0), 255)) }
	for y := of.Rect.Min.Y; y < of.Rect.Max.Y; y++ {
		for x := of.Rect.Min.X; x < of.Rect.Max.X; x++ {
			luma, at := int(of.Y[of.YOffset(x, y)])*19077>>8, of.COffset(x, y)
			u, v := int(of.Cb[at]), int(of.Cr[at])
			pixel := out.Pix[out.PixOffset(x, y):]
			pixel[0] = clamp(luma + v*26149>>8 - 14234)
			pixel[1] = clamp(luma - u*6419>>8 - v*13320>>8 + 8708)
			pixel[2] = clamp(luma + u*33050>>8 - 17685)
			pixel[3] = alpha(x, y)
		}
	}
	return out
}

// store lays a picture over white, as a page would show it, stretches it to the declared size
// (Catmull-Rom, which averages when it shrinks) and writes its bytes in HWC order. One channel is
// the luma of ITU-R BT.601, as in image/color. A picture that already has the size is not
// resampled. Sixteen-bit depths are reduced to eight. The picture is turned as its orientation
// says, 1 to 8 of tag 274 of TIFF: from 5 on its rows are columns.
func store(dst []uint8, src image.Image, size Size, orientation int) {
	width, height := size.Width, size.Height // of the picture before it is turned
	if orientation > 4 {
		width, height = height, width
	}
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(canvas, canvas.Rect, image.White, image.Point{}, draw.Src)
	if src.Bounds().Size() == canvas.Rect.Size() {
		draw.Draw(canvas, canvas.Rect, src, src.Bounds().Min, draw.Over)
	} else {
		draw.CatmullRom.Scale(canvas, canvas.Rect, src, src.Bounds(), draw.Over, nil)
	}
	for i := 0; i < size.Height*size.Width; i++ {
		x, y := i%size.Width, i/size.Width
		if orientation > 4 {
			x, y = y, x
		}
		switch orientation {
		case 2, 8:
			x = width - 1 - x
		case 3, 7:
			x, y = width-1-x, height-1-y
		case 4, 6:
			y = height - 1 - y
		}
		p := canvas.Pix[canvas.PixOffset(x, y):]
		if size.Channels == 1 {
			dst[i] = luma(p[0], p[1], p[2])
		} else {
			copy(dst[3*i:3*i+3], p[:3])
		}
	}
}

// luma returns 0.299 red + 0.587 green + 0.114 blue, with the rounding of
// image/color.GrayModel: a grey pixel keeps its value.
func luma(red, green, blue uint8) uint8 {
	const spread = 0x101 // from 8 to 16 bits
	return uint8((19595*spread*uint32(red) + 38470*spread*uint32(green) + 7471*spread*uint32(blue) + 1<<15) >> 24)
}

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
