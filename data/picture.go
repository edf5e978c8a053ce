package data

import (
	"fmt"
	"image"
	_ "image/jpeg" // registers the decoder
	_ "image/png"  // registers the decoder
	"io"
	"os"
	"path/filepath"

	"golang.org/x/image/draw"
)

const (
	maxPictureBytes  = 64 << 20 // of one file
	maxPicturePixels = 64 << 20 // of one decoded picture, about 8,000 by 8,000
)

// readPictures decodes, resizes and stores pictures on all processors. The error
// names the first picture, in their order, that cannot be read.
func readPictures(root *os.Root, pictures []picture, shape Shape, classes []string) (*Images, error) {
	total, err := product(len(pictures), shape.Values())
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", root.Name(), err)
	}
	labels, pixels := make([]uint8, len(pictures)), make([]uint8, total)
	size := shape.Values()
	err = parallel(len(pictures), func(i int) error {
		p := pictures[i]
		labels[i] = p.label
		if err := readPicture(root, p.path, shape, pixels[i*size:(i+1)*size]); err != nil {
			return fmt.Errorf("data: %w: picture %s: %w", ErrInvalid, filepath.Join(root.Name(), filepath.FromSlash(p.path)), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return NewImages(shape, classes, labels, pixels)
}

// readPicture decodes one file into dst. The size in its header is checked before
// memory is taken for its pixels.
func readPicture(root *os.Root, name string, shape Shape, dst []uint8) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxPictureBytes {
		return fmt.Errorf("%d bytes, expected at most %d", info.Size(), maxPictureBytes)
	}
	config, format, err := image.DecodeConfig(io.LimitReader(f, maxPictureBytes))
	if err != nil {
		return fmt.Errorf("cannot be decoded as PNG or JPEG: %w", err)
	}
	if format != "png" && format != "jpeg" { // a decoder that another package registered
		return fmt.Errorf("the format is %s, expected PNG or JPEG", format)
	}
	if config.Width < 1 || config.Height < 1 || config.Height > maxPicturePixels/config.Width {
		return fmt.Errorf("%d by %d pixels, expected 1 to %d in all", config.Width, config.Height, maxPicturePixels)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	decoded, _, err := image.Decode(io.LimitReader(f, maxPictureBytes))
	if err != nil {
		return fmt.Errorf("cannot be decoded: %w", err)
	}
	store(dst, decoded, shape)
	return nil
}

// store lays a picture over white, as a page would show it, stretches it to the size of shape
// (Catmull-Rom, which averages when it shrinks) and writes its bytes in HWC order. One channel is
// the luma of ITU-R BT.601, as in image/color. A picture that already has the size is not
// resampled. Sixteen-bit depths are reduced to eight. The orientation note that some cameras leave
// in a JPEG is not read.
func store(dst []uint8, src image.Image, shape Shape) {
	canvas := image.NewRGBA(image.Rect(0, 0, shape.Width, shape.Height))
	draw.Draw(canvas, canvas.Rect, image.White, image.Point{}, draw.Src)
	if src.Bounds().Size() == canvas.Rect.Size() {
		draw.Draw(canvas, canvas.Rect, src, src.Bounds().Min, draw.Over)
	} else {
		draw.CatmullRom.Scale(canvas, canvas.Rect, src, src.Bounds(), draw.Over, nil)
	}
	for i := 0; i < shape.Height*shape.Width; i++ {
		p := canvas.Pix[4*i : 4*i+4]
		if shape.Channels == 1 {
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
