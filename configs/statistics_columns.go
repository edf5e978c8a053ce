package configs

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpsgd/data"
	"dpsgd/internal/spelling"
)

// Column is one number of each record, the mean of some of its values, or the class of each record.
type Column struct {
	Class   bool
	Indices []int // of values of a record: several for brightness and colours, else one; none of Class
	Pixels  bool  // each value is a pixel, from 0 to 1
}

// The names of columns: one that data of any kind has, and one of pictures.
const (
	labelColumn = "label"
	brightness  = "brightness" // the mean of all values of a picture
)

var colours = []string{"red", "green", "blue"}

var pixelName = regexp.MustCompile(`^pixel ([0-9]{1,4}) ([0-9]{1,4})(?: ([0-2]))?$`)

// ColumnOf returns the column of configured data that has this name, or an error. Columns are
//
//	of any data    label
//	of tables      those of data.columns, and data.label by its name
//	of vectors     0, 1, 2, …
//	of pictures    brightness, the mean of all their values; red, green and blue; pixel ROW COLUMN,
//	               and pixel ROW COLUMN CHANNEL, counted from 0
func ColumnOf(c *Config, name string) (Column, error) {
	shape := c.Data.Shape()
	switch {
	case (name == labelColumn || name == c.Data.Label) && c.Data.Task() != data.Class:
		return Column{}, fmt.Errorf("found %s, expected one of data.columns: the table has labels or numbers to learn, and no class", printable(name))
	case name == labelColumn, c.Data.Table != "" && name == c.Data.Label:
		return Column{Class: true}, nil
	case c.Data.Table != "":
		if i := slices.Index(c.Data.Columns, name); i >= 0 {
			return Column{Indices: []int{i}}, nil
		}
		known := slices.Concat(c.Data.Columns, []string{labelColumn})
		return Column{}, fmt.Errorf("found %s, expected one of data.columns, or %s%s", printable(name), labelColumn, spelling.Hint(name, known))
	case shape.IsText():
		return Column{}, fmt.Errorf("found %s, expected %s: texts have no numbers", printable(name), labelColumn)
	case shape.IsRow():
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < shape.Channels {
			return Column{Indices: []int{i}}, nil
		}
		return Column{}, fmt.Errorf("found %s, expected the number of a value, 0 to %d, or %s", printable(name), shape.Channels-1, labelColumn)
	}
	if indices := pixelIndices(shape, name); indices != nil {
		return Column{Indices: indices, Pixels: true}, nil
	}
	expected := fmt.Sprintf("%s, %s, pixel ROW COLUMN (of %v)", labelColumn, brightness, shape)
	if shape.Channels == 3 {
		expected = fmt.Sprintf("%s, %s, red, green, blue, pixel ROW COLUMN CHANNEL (of %v)", labelColumn, brightness, shape)
	}
	return Column{}, fmt.Errorf("found %s, expected one of %s", printable(name), expected)
}

// pixelIndices returns the indices of a picture's values that a column means; none if unknown.
func pixelIndices(shape data.Shape, name string) (indices []int) {
	channel := slices.Index(colours, name)
	place := pixelName.FindStringSubmatch(name)
	switch {
	case name == brightness:
		for i := range shape.Values() {
			indices = append(indices, i)
		}
	case shape.Channels == 3 && channel >= 0:
		for i := channel; i < shape.Values(); i += shape.Channels {
			indices = append(indices, i)
		}
	case place != nil && (place[3] != "") == (shape.Channels > 1):
		row, _ := strconv.Atoi(place[1])
		column, _ := strconv.Atoi(place[2])
		channel, _ := strconv.Atoi(place[3])
		if row < shape.Height && column < shape.Width && channel < shape.Channels {
			return []int{(row*shape.Width+column)*shape.Channels + channel}
		}
	}
	return indices
}

// numberColumns returns the names of the columns with numbers: one for each value of a record.
func numberColumns(c *Config) (names []string) {
	shape := c.Data.Shape()
	switch {
	case c.Data.Table != "":
		return slices.Clone(c.Data.Columns)
	case shape.IsRow():
		for i := range shape.Channels {
			names = append(names, strconv.Itoa(i))
		}
		return names
	}
	for row := range shape.Height {
		for column := range shape.Width {
			for channel := range shape.Channels {
				name := fmt.Sprintf("pixel %d %d", row, column)
				if shape.Channels > 1 {
					name += fmt.Sprintf(" %d", channel)
				}
				names = append(names, name)
			}
		}
	}
	return names
}

// Names returns the columns of the statistic; for "all", the names of all columns with numbers.
func (s *Statistic) Names(c *Config) []string {
	if s.many && slices.Equal(s.Columns, []string{allColumns}) {
		return numberColumns(c)
	}
	return s.Columns
}

// maxCovariance is the most columns of a covariance, which has about half as many values as the
// square of their number.
const maxCovariance = 128

// check reports what does not fit the declared data, and fills in the bounds of pixels.
func (s *Statistic) check(r *report, c *Config) {
	for i := range s.Queries {
		s.Queries[i].check(r, c)
	}
	if s.Kind == StatAboveThreshold {
		return
	}
	key := s.path + ".column"
	if s.many {
		key += "s"
	}
	names := s.Names(c)
	if s.Kind == StatCovariance && (len(names) < 2 || len(names) > maxCovariance) {
		r.Addf(s.at, key, "found %d columns, expected 2 to %d for a covariance", len(names), maxCovariance)
		return
	}
	ofClass, ofPixels := false, true
	for _, name := range names {
		column, err := ColumnOf(c, name)
		if err != nil {
			r.Addf(s.at, key, "%s", err)
			return
		}
		ofClass, ofPixels = ofClass || column.Class, ofPixels && column.Pixels
	}
	s.checkClass(r, c, key, ofClass)
	r.Refuse(len(s.Each) > 0 && len(s.Each) != len(names), s.at, s.path+".bounds",
		"found %d pairs for %d columns, expected one pair for each, or one [low, high] for all", len(s.Each), len(names))
	s.checkBounds(r, ofClass, ofPixels)
}

// checkClass reports what does not fit a column of classes, if ofClass, or else of numbers: the
// kind, keys for the other sort, an unknown class, missing bins. key is the column's, for messages.
func (s *Statistic) checkClass(r *report, c *Config, key string, ofClass bool) {
	classes := c.Data.Learnt()
	switch {
	case ofClass && !s.kind().classes:
		r.Addf(s.at, key, "found the class of a record, expected a column with numbers for a %s", s.Kind)
	case s.Kind == StatCount && ofClass && s.Range.Given():
		r.Addf(s.at, s.path+".range", "found a range of classes, expected equals with one of %s", firstNames(classes))
	case s.Kind == StatCount && !ofClass && s.Equals != "":
		r.Addf(s.at, s.path+".equals", "found a class for a column with numbers, expected range: [low, high]")
	case s.Kind == StatCount && ofClass && !slices.Contains(classes, s.Equals):
		r.Addf(s.at, s.path+".equals", "found %s, expected one of %s%s", printable(s.Equals), firstNames(classes), spelling.Hint(s.Equals, classes))
	case ofClass && s.Bins > 0:
		r.Addf(s.at, s.path+".bins", "found bins for classes, expected none: each class is one")
	case s.kind().classes && s.kind().takes("bins") && !ofClass && s.Bins == 0:
		r.Addf(s.at, s.path+".bins", "found nothing, expected %s", binsFormat.Expected())
	}
}

// firstNames returns up to 12 names with commas between, and … if there are more.
func firstNames(names []string) string {
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func (s *Statistic) checkBounds(r *report, ofClass, ofPixels bool) {
	given := s.Bounds.Private || s.Bounds.Given() || len(s.Each) > 0
	switch {
	case !s.kind().takes("bounds"):
	case ofClass && given:
		r.Addf(s.at, s.path+".bounds", "found bounds for classes, expected none")
	case ofClass || given:
	case ofPixels:
		s.Bounds.Interval = Interval{0, 1}
	default:
		r.Addf(s.at, s.path+".bounds", "found nothing, expected [low, high], which is public, or private: bounds are never taken from the data")
	}
	width := s.Bounds.High - s.Bounds.Low
	r.Refuse(s.Kind == StatMedian && !s.Bounds.Private && s.Bounds.Given() && s.Step >= width, s.at, s.path+".step",
		"found %s, expected less than the width of the bounds, %s", encodeNumber(s.Step), encodeNumber(width))
	r.Refuse(s.Bounds.Private && (s.Kind == StatMedian || s.many || s.Trust != Curator), s.at, s.path+".bounds",
		"found private, expected [low, high] for a median, for several columns, or where no curator is trusted")
}
