package setup

import (
	"math"
	"runtime/debug"

	"dpsgd/configs"
)

// placeBytes is what it takes to know where one picture lies that is not in memory.
const placeBytes = 32

// garbagePercent is how much garbage may gather, as a share of what is in use, where pictures are decoded
// all the time: about 64 MiB, and not as much as all that is in use, which is Go's 100. Collecting it is
// cheap: next to all memory is numbers, which are not searched.
func garbagePercent(used float64) int { return int(min(100, max(20, 100*(64<<20)/used))) }

// AllPictures is what all examples take, decoded, in bytes.
func AllPictures(o Outline) int64 {
	return int64(min((float64(o.Examples)+float64(o.Tests))*float64(o.Shape.Bytes()), math.MaxInt64/2))
}

// PicturesHeld is how many bytes of decoded pictures training keeps in memory. All of them, unless they lie
// in a folder and performance.data_memory says less, or there is too little for all of them: then half
// of what is left.
func PicturesHeld(c *configs.Config, o Outline) int64 {
	all := AllPictures(o)
	if c.Data.Folder == "" {
		return all
	}
	if c.Performance.DataMemory > 0 {
		return min(all, c.Performance.DataMemory)
	}
	limit, _ := limitOf(c)
	if e, err := of(c, o, all); err != nil || e.Total() <= limit {
		return all
	}
	e, err := of(c, o, 0)
	if err != nil {
		return all
	}
	return min(all-1, int64(max(0, limit-e.Total())/2))
}

// TidyUp lets less garbage gather in this process where pictures are decoded all the time.
func TidyUp(c *configs.Config, o Outline, held int64) {
	if e, err := of(c, o, held); err == nil && held < AllPictures(o) {
		debug.SetGCPercent(garbagePercent(e.Total()))
	}
}

// limitOf is how many bytes a configuration may take, and who says so.
func limitOf(c *configs.Config) (limit float64, whose string) {
	if most := c.Performance.MaxMemory; most > 0 {
		return float64(most), "of performance.max_memory"
	}
	return available(), "that are free; another performance.max_memory lets it try"
}
