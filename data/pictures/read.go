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
	"slices"

	_ "golang.org/x/image/bmp" // registers the decoder
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // registers the decoder
	_ "golang.org/x/image/webp" // registers the decoder
)

// Size is what pictures are brought to: height and width in pixels, and 1 channel (grey) or 3 (red,
// green, blue).
type Size struct{ Height, Width, Channels int }

// Limits of one file.
const (
	MaxBytes  = 64 << 20 // of one file
	MaxPixels = 64 << 20 // of one decoded picture, about 8,000 by 8,000
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
	if info.Size() > MaxBytes {
		return fmt.Errorf("%d bytes, expected at most %d", info.Size(), MaxBytes)
	}
	return Decode(f, MaxPixels, size, dst)
}

// Decode decodes a picture of at most so many pixels into dst, height·width·channels bytes in that
// order. The size in its header is checked before memory is taken for its pixels.
func Decode(r io.ReadSeeker, maxPixels int, size Size, dst []uint8) error {
	config, format, err := image.DecodeConfig(io.LimitReader(r, MaxBytes))
	if err != nil {
		return fmt.Errorf("cannot be decoded as a picture (%s): %w", Extensions(), err)
	}
	if !slices.Contains(slices.Collect(maps.Values(formats)), format) { // a decoder that another package registered
		return fmt.Errorf("the format is %s, expected that of a picture (%s)", format, Extensions())
	}
	if config.Width < 1 || config.Height < 1 || config.Height > maxPixels/config.Width {
		return fmt.Errorf("%d by %d pixels, expected 1 to %d in all", config.Width, config.Height, maxPixels)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return err
	}
	decoded, _, err := image.Decode(io.LimitReader(r, MaxBytes))
	if err != nil {
		return fmt.Errorf("cannot be decoded: %w", err)
	}
	store(dst, decoded, size)
	return nil
}

// store lays a picture over white, as a page would show it, stretches it to the declared size
// (Catmull-Rom, which averages when it shrinks) and writes its bytes in HWC order. One channel is
// the luma of ITU-R BT.601, as in image/color. A picture that already has the size is not
// resampled. Sixteen-bit depths are reduced to eight. The orientation note that some cameras leave
// in a JPEG is not read.
func store(dst []uint8, src image.Image, size Size) {
	canvas := image.NewRGBA(image.Rect(0, 0, size.Width, size.Height))
	draw.Draw(canvas, canvas.Rect, image.White, image.Point{}, draw.Src)
	if src.Bounds().Size() == canvas.Rect.Size() {
		draw.Draw(canvas, canvas.Rect, src, src.Bounds().Min, draw.Over)
	} else {
		draw.CatmullRom.Scale(canvas, canvas.Rect, src, src.Bounds(), draw.Over, nil)
	}
	for i := 0; i < size.Height*size.Width; i++ {
		p := canvas.Pix[4*i : 4*i+4]
		if size.Channels == 1 {
			dst[i] = luma(p[0], p[1], p[2])
		} else {
			copy(dst[3*i:3*i+3], p)
		}
	}
}

// luma is 0.299 red + 0.587 green + 0.114 blue, with the rounding of
// image/color.GrayModel: a grey pixel keeps its value.
func luma(red, green, blue uint8) uint8 {
	const spread = 0x101 // from 8 to 16 bits
	return uint8((19595*spread*uint32(red) + 38470*spread*uint32(green) + 7471*spread*uint32(blue) + 1<<15) >> 24)
}
